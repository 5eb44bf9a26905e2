// An OAuth authorization server for tests: oidc-provider, a certified
// implementation, with a login form that takes any name.
//
//   node main.mjs FOLDER_OF_NODE_MODULES '{"accessTokenSeconds": 60, …}'
//
// It prints its issuer once it listens, and ends with its standard input.
import { createServer } from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, json = '{}'] = process.argv.slice(2)
const options = {
  accessTokenSeconds: 3600, // how long an access token lives
  refreshTokenSeconds: 86400, // and a refresh token
  rotate: true, // each refresh token is good for one use
  registration: true, // clients may register themselves
  audience: null, // of all tokens, whatever resource was asked for
  callbackMembers: {}, // put into each answer that goes back to a client; null takes one away
  clients: [],
  ...JSON.parse(json),
}

// What the library has to say about its development defaults is no test's
// business.
console.info = console.warn = () => {}
const { Provider } = await import(pathToFileURL(path.join(folder, 'oidc-provider', 'lib', 'index.js')))

const server = createServer()
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${server.address().port}`

const scope = 'mcp:read mcp:write'
const provider = new Provider(issuer, {
  clients: [
    // The MCP server, when it asks whether a token is good.
    {
      client_id: 'resource-server', client_secret: 'resource-server-secret',
      redirect_uris: [], response_types: [], grant_types: [],
    },
    ...options.clients,
  ],
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true },
    registration: { enabled: options.registration },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope, audience: options.audience ?? resource, accessTokenFormat: 'opaque',
        accessTokenTTL: options.accessTokenSeconds,
      }),
    },
  },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: options.rotate,
  pkce: { required: () => true },
  ttl: {
    AccessToken: options.accessTokenSeconds, RefreshToken: options.refreshTokenSeconds,
    Grant: 86400, Interaction: 600, Session: 86400, AuthorizationCode: 60,
  },
})

// A faulty server: its answers are not what they were.
provider.use(async (ctx, next) => {
  await next()
  const location = ctx.response.get('location') ?? ''
  if (location.includes('/callback?')) {
    const url = new URL(location)
    for (const [member, value] of Object.entries(options.callbackMembers)) {
      if (value === null) url.searchParams.delete(member)
      else url.searchParams.set(member, value)
    }
    ctx.set('location', url.href)
  }
})

server.on('request', provider.callback())
process.stdout.write(issuer + '\n')
process.stdin.on('end', () => process.exit()).resume()
