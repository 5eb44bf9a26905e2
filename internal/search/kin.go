package search

import (
	"slices"
	"strings"
	"sync"
)

// The words below are general usage, written down once: how people speak of
// tools, files, projects, browsers, messages and data. What one server calls its
// things is not among them.

// functionWords say nothing of what is looked for.
const functionWords = `
a about after again all also am an and another any anything are as at be because
been before being between both but by can could did do does doing done each else
every everything exactly few for from given had has have having he her here him
his how i if in into is it its itself just like me more most much my myself need
no not now of off on once one only onto or other our ours out over own please
same she should since so some somebody someone something such than that the
their them then there these they this those through to too under until up upon
us use using very want was we were while will with within without would you your
yours
`

// adjectives are verbs only before an article: open a file, open files.
const adjectives = `clean clear complete empty free new open`

// interrogatives ask to be shown something.
const interrogatives = `what when where which who whom whose`

// actions are what a tool can do: a line holds the verbs for one kind of
// action. A verb may be in several lines.
const actions = `
get fetch read retrieve show view display see look load obtain inspect print dump give tell lookup download describe explain detail open return
list enumerate browse overview show
find search query lookup look locate seek grep filter match discover
create add make new insert generate build open write produce post compose register set report append attach put include extend leave
delete remove erase drop forget clear discard destroy unset
update edit change modify patch set alter bring make let replace rewrite rename adjust correct fix put configure mark close reopen
write save store put
move rename transfer relocate put
copy duplicate clone fork
send post submit publish write message deliver reply answer respond notify leave
comment remark annotate discuss reply respond leave
run execute start launch invoke evaluate call perform trigger begin
stop end kill terminate cancel abort quit close finish shut exit
enter leave join exit
wait pause sleep delay
press click push hit tap
type enter input fill write
choose select pick switch focus activate
check verify test validate audit inspect approve review
compare diff preview
navigate go visit open browse
switch toggle turn enable disable
allow permit grant
forbid block deny prohibit
remember memorize store note save create add record
approve review accept reject
merge combine join unite
push commit save upload
pull sync update
upload attach send import
download export save
compress zip gzip archive pack
extract unzip decompress unpack
record capture film take shoot
echo repeat return
sum add total plus calculate compute
think reason reflect consider solve
schedule plan remind book
drag pull move
do perform run execute
drop release
hover move point
resize scale enlarge shrink
emulate simulate pretend fake mimic imitate
ask question prompt request elicit
delegate assign hand
resolve lookup identify
summarize summarise condense
translate convert transform
subscribe follow watch
sort order rank
count measure
install setup
lock unlock
login authenticate
undo revert restore rollback reset
backup archive export
deploy release ship publish
compile build make
format lint tidy
refresh reload renew
scroll swipe pan
zoom magnify
crop trim cut
rotate turn flip
star favorite favourite bookmark like
ban block
tag label categorize classify
vote poll
reserve book schedule
gather collect aggregate
split divide separate
group cluster arrange organize
shut close
watch monitor observe track
save keep retain
fill complete populate
mark flag tick check complete
hand give pass delegate assign
replace swap substitute exchange
guess predict estimate forecast
encrypt sign
debug diagnose trace investigate
profile measure benchmark
connect link attach join
share invite
buy order pay purchase
`

// things are what tools work on: a line holds names for one thing.
const things = `
folder directory dir
tree nested hierarchy recursive structure
file document
picture image photo screenshot icon graphic
video film movie screencast clip recording
sound audio music
website webpage page url site address web
tab page window
internet web online
bug issue ticket problem defect
error warning message log exception failure
pr pull
repository repo project codebase
history commit log past recent earlier
branch version
user person people member account developer author owner contact customer who
team group organization company organisation
question query prompt
table database spreadsheet sheet grid
row record entry item element
column field property attribute
status state
paragraph block section text
documentation docs doc manual reference guide
example sample snippet
package library framework dependency module
process program task job application app
job cron task schedule
timer reminder alarm daily weekly hourly morning evening recurring regular periodic cron schedule
todo task checklist
shell terminal console command bash cli prompt
session terminal connection
setting option preference configuration config parameter
text string word content body
variable env environment
popup dialog alert modal confirm
dropdown select menu combobox
button element link
size big large biggest largest bytes space heavy dimension width height
width wide height tall size resize dimension
small tiny little mini short
fast slow speed performance latency quick
agent assistant worker bot
location place geolocation city country region gps
dark light theme color colour scheme
link relation connection edge relationship reference
entity node object item thing
fact observation knowledge information detail
memory knowledge
metadata info information details attribute property
mobile phone device tablet
traffic network request
response answer reply body result
result hit match
statistics stats usage often frequency count metrics
style css design appearance layout
style rule
check status test build ci
remark comment note annotation feedback discussion
release version tag
calendar event meeting appointment date
mail email message inbox
chat conversation channel thread message
money payment invoice price charge
order purchase
map route direction
weather temperature forecast
key password secret token credential
picture avatar
disk drive storage filesystem
cell row column
idea thought
change difference diff revision
newest latest current recent
finding insight
vanish disappear gone
accessibility a11y
javascript js script
typescript ts
python py
kubernetes k8s
page document doc
report summary overview
milestone deadline due
board kanban project
pipeline workflow automation action
container docker
machine host computer server system
domain dns hostname
certificate tls ssl
bucket blob storage object
queue topic stream
function lambda method
metric measurement
alert notification incident
chart graph plot diagram
query sql statement
company business organization organisation
client customer account
phone telephone number
employee staff colleague worker
invoice bill receipt
plan subscription
product article item
stock inventory
shipment delivery parcel
song track music
article news story headline
post tweet status
emoji reaction
attachment file upload
draft unsent
attendee participant guest invitee
note memo remark
tag label category
title heading name subject
author creator writer
language locale
word term text
line row
fragment excerpt passage part
code source program
class type
test spec
address location url
id identifier number
hint tip advice
cookie session
proxy network
device hardware
console output log
cursor mouse pointer
area region zone
owner user
trash bin garbage
shortcut key keyboard
choice option
picture photo image
page screen view
height tall size
template boilerplate layout
child sub nested
`

// lexicon is what the lists above are made into.
type lexicon struct {
	functionWords, adjectives, interrogatives map[string]bool
	// actionKin and thingKin hold, by stem, the stems that may stand for a verb
	// and for any other word.
	actionKin, thingKin map[string][]string
	// actions holds, by stem, the kinds of action a verb stands for, one bit
	// each; showing are the kinds that a question asks for.
	actions map[string]uint64
	showing uint64
}

// words is the lexicon. The first use makes it, which takes some milliseconds
// that no process should pay that neither searches nor indexes.
var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{
		functionWords: set(functionWords), adjectives: set(adjectives), interrogatives: set(interrogatives),
		actionKin: kinOf(actions), thingKin: kinOf(things), actions: kindsOf(actions),
	}
	l.showing = l.actions["show"] | l.actions["list"] | l.actions["find"]
	return l
})

// set makes a set of the words of a text.
func set(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(text) {
		words[w] = true
	}
	return words
}

// kinOf makes of every line a group of words that stand for each other.
func kinOf(text string) map[string][]string {
	groups := map[string][]string{}
	for line := range strings.Lines(text) {
		words := stems{}.terms(line)
		for _, w := range words {
			for _, other := range words {
				if other != w && !slices.Contains(groups[w], other) {
					groups[w] = append(groups[w], other)
				}
			}
		}
	}
	return groups
}

// kindsOf makes a kind of every line.
func kindsOf(text string) map[string]uint64 {
	kinds := map[string]uint64{}
	kind := uint64(1)
	for line := range strings.Lines(strings.TrimSpace(text)) {
		for _, w := range (stems{}).terms(line) {
			kinds[w] |= kind
		}
		kind <<= 1
	}
	return kinds
}
