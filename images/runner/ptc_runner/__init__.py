"""The Python end of ptc-mcp's channel: it runs one program at a time.

It owns what a program sees inside the sandbox: its streams, its tools and its
end. It trusts the host and is trusted by nobody: every limit here only makes
for a better message, the host enforces it.

Read ``session`` first; it is the life of the runner from hello to done.
"""
