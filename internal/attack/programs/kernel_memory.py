# Title: keep memory that counts for no process
# Tries: System V segments, queues and semaphores, secret memory, POSIX queues, whole-disk watches, pages moved between pipes.
# Seen: every call refused.
PRIVATE, CREATE = 0, 0o1600


def secret():
    os.close(syscall("memfd_secret", 0))
    return "secret memory"


def queue():
    os.close(syscall("mq_open", BAIT["token"].encode(), os.O_CREAT | os.O_RDWR, 0o600, 0))
    LIBC.mq_unlink(b"/" + BAIT["token"].encode())
    return "a queue"


def removed(name, remove):
    def make():
        number = syscall(name, PRIVATE, *((4096, CREATE) if name == "shmget" else (1, CREATE) if name == "semget" else (CREATE,)))
        remove(number)
        return "made"

    return make


def watch():
    os.close(syscall("fanotify_init", 0, 0))
    return "a watch"


def pages():
    reading, writing = os.pipe()
    return past_check(lambda: syscall("splice", reading, 0, writing, 0, 1, 0), errno.EINVAL)


attempt("shmget", removed("shmget", lambda n: LIBC.shmctl(n, 0, 0)))
attempt("msgget", removed("msgget", lambda n: LIBC.msgctl(n, 0, 0)))
attempt("semget", removed("semget", lambda n: LIBC.semctl(n, 0, 0)))
attempt("memfd_secret", secret)
attempt("mq_open", queue)
attempt("fanotify_init", watch, root=True)
attempt("splice", pages)
report()
