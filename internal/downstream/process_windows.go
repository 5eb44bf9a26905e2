package downstream

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// tree is a job object: what a process in it starts is in it too.
type tree struct{ job windows.Handle }

func (t *tree) attach(pid int) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, _ = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(handle) //nolint:errcheck // nothing to be done about it
	if windows.AssignProcessToJobObject(job, handle) != nil {
		_ = windows.CloseHandle(job)
		return
	}
	t.job = job
}

func (t *tree) remember()  {}
func (t *tree) terminate() {} // there is no polite signal
func (t *tree) kill() {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
}

func (t *tree) release() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}
