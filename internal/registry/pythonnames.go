package registry

import (
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// pythonNames are the names that can stand before a parenthesis without being a
// tool's: keywords, builtins of any Python from 3.9 to 3.14, and what the runner
// defines.
var pythonNames = func() map[string]bool {
	names := map[string]bool{tool.InspectTool: true, tool.ServerStatus: true}
	for _, name := range slices.Concat(pythonKeywords, strings.Fields(pythonBuiltins)) {
		names[name] = true
	}
	return names
}()

const pythonBuiltins = `
case emit match servers ToolError
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup
BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
ConnectionAbortedError ConnectionError ConnectionRefusedError
ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning
EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError
FloatingPointError FutureWarning GeneratorExit IOError ImportError
ImportWarning IndentationError IndexError InterruptedError IsADirectoryError
KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError
NameError NotADirectoryError NotImplemented NotImplementedError OSError
OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
PythonFinalizationError RecursionError ReferenceError ResourceWarning
RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError
UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning
WindowsError ZeroDivisionError __build_class__ __import__ abs aiter all anext
any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile
complex copyright credits delattr dict dir divmod enumerate eval exec exit
filter float format frozenset getattr globals hasattr hash help hex id input
int isinstance issubclass iter len license list locals map max memoryview min
next object oct open ord pow print property quit range repr reversed round set
setattr slice sorted staticmethod str sum super tuple type vars zip
`
