package search

// weights are how much each kind of evidence counts.
type weights struct {
	// Of the texts of a tool: its name, title and server's name, the first
	// sentence of its description and the others, names and descriptions of
	// parameters.
	name, title, server, summary, details, parameter, explanation float64

	// Of a term that stands for a word of the query: it means the very same, about
	// the same, it is a kind of it, it is what it is a kind of, the word's beginning, a likely
	// spelling, the word written as one with its neighbour, the last word of a
	// phrase.
	core, same, narrower, broader, prefix, typo, joined, phraseHead float64

	// Of a word of the query: a verb that does not say what to do, the verb
	// that does, what comes after a preposition, an interrogative.
	beside, verb, context, aside, interrogative, site, vague float64
	// contextSaid is how much what comes after a preposition says of a name.
	contextSaid float64

	// partly and loosely are how much actions agree that may be the same.
	partly, loosely float64
	// action is what the action that is asked for counts, against its rarity.
	action float64
	// saturation is BM25's k1: how soon more of the same word stops to matter.
	saturation float64

	// What is left of a score when the tool has nearly none of the query's
	// words; when the query says nothing of what the tool's name says; when it
	// says a word of the name in the other number.
	lacking, unasked, otherNumber float64
	// When the tool's action is another than the query asks for, is contrary to
	// it, or unknown; and the first two when the query has no verb.
	otherAction, contraryAction, unknownAction, otherSupposed, contrarySupposed float64
	// When the query names another server; when a tool says it is deprecated.
	otherServer, deprecated float64
	// otherThing is what is left when the tool has none of the things asked for,
	// otherCount when it is for one and many are asked for or the reverse.
	otherThing, otherCount float64
}

// chosen are the weights in use. A search, one weight at a time, found them on
// the questions in internal/registry/testdata/search that are there to tune with.
func chosen() *weights {
	return &weights{
		name: 3.5, title: 2.2, server: 0.6, summary: 2.5, details: 0.7, parameter: 0.6, explanation: 0.15,
		core: 0.75, same: 0.6, narrower: 0.25, broader: 0.45, prefix: 1, typo: 0.3, joined: 1, phraseHead: 0.85,
		beside: 0.8, verb: 0.7, context: 0.9, aside: 0.35, interrogative: 0.5, site: 0.7, vague: 0.4, contextSaid: 0.95,
		partly: 0.45, loosely: 0.3, action: 0.55, saturation: 1,
		lacking: 0.22, unasked: 0.3, otherNumber: 0.35,
		otherAction: 0.7, contraryAction: 0.65, unknownAction: 0.8, otherSupposed: 0.55, contrarySupposed: 0.45,
		otherServer: 0.5, deprecated: 0.8,
		otherThing: 0.7, otherCount: 0.7,
	}
}
