/*
 * What the kernel itself takes, without any runtime. Usage: probe WHAT N [COMMAND...]
 * Prints the nanoseconds of each of N rounds, one a line.
 *
 *   fork        fork, end, wait
 *   exec        fork, exec COMMAND, its first byte, its end
 *   namespaces  a child in new mount, pid, net, ipc, uts, user and cgroup
 *               namespaces with a tmpfs of its own, its end
 *   pipe        a byte to another process and back
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void reap(pid_t child)
{
	int status;
	if (waitpid(child, &status, 0) < 0)
		die("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "probe: the child failed\n");
		exit(1);
	}
}

static void round_fork(void)
{
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0)
		_exit(0);
	reap(child);
}

static void round_exec(char **command)
{
	int out[2];
	char byte;
	if (pipe(out) < 0)
		die("pipe");
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execvp(command[0], command);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], &byte, 1) != 1)
		die("read");
	while (read(out[0], &byte, 1) == 1)
		;
	close(out[0]);
	reap(child);
}

static void round_namespaces(void)
{
	unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWUSER | CLONE_NEWCGROUP;
	pid_t child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (child < 0)
		die("clone");
	if (child == 0) {
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64m") < 0)
			_exit(1);
		_exit(0);
	}
	reap(child);
}

static void rounds_pipe(int n)
{
	int there[2], back[2];
	char byte = 0;
	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	pid_t child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			if (write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < n; i++) {
		long long begin = now();
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
		printf("%lld\n", now() - begin);
	}
	close(there[1]);
	reap(child);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: probe fork|exec|namespaces|pipe N [COMMAND...]\n");
		return 2;
	}
	int n = atoi(argv[2]);
	if (strcmp(argv[1], "pipe") == 0) {
		rounds_pipe(n);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		long long begin = now();
		if (strcmp(argv[1], "fork") == 0)
			round_fork();
		else if (strcmp(argv[1], "exec") == 0 && argc > 3)
			round_exec(argv + 3);
		else if (strcmp(argv[1], "namespaces") == 0)
			round_namespaces();
		else
			return 2;
		printf("%lld\n", now() - begin);
		fflush(stdout);
	}
	return 0;
}
