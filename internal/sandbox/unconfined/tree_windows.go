package unconfined

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// tree is a job: whatever a process in it starts is in it too, and none of
// them outlives it.
type tree struct{ job windows.Handle }

// environment is what Python needs to start on Windows, and nothing else.
func environment(folder string) []string {
	return []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TEMP=" + folder, "TMP=" + folder}
}

// startTree starts the command and puts it into a job that ends with this
// process.
func startTree(command *exec.Cmd, _ string) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(command.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		_ = windows.CloseHandle(process)
	}
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = windows.CloseHandle(job)
		return nil, err
	}
	return &tree{job}, nil
}

// kill ends every process of the job.
func (t *tree) kill() {
	_ = windows.TerminateJobObject(t.job, 1) // fails when all have ended
}

func exitStatus(state *os.ProcessState) sandbox.ExitStatus {
	if state == nil {
		return sandbox.ExitStatus{Reason: sandbox.Exited, Code: -1}
	}
	return sandbox.ExitStatus{Reason: sandbox.Exited, Code: state.ExitCode()}
}
