/* Counts every change of the file system below one folder, in every process that loads this library, and at the n-th
 * one kills or fails. LD_PRELOAD loads it; CRASH_CONTROL names the file that all of these processes share.
 *
 * What stdio writes when a buffer is full is not seen; fflush and fclose are, which is where git's small files go out.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#define LONGEST 2048

enum action { COUNT = 0, KILL_ALL = 1, KILL_ONE = 2, NO_SPACE = 3, FULL = 4, IO_ERROR = 5 };

/* tests/crash/injector.py writes and reads this by the same offsets. */
struct control {
    int64_t count;          /* changes so far */
    int64_t target;         /* the one that is struck, from 1 */
    int32_t action;
    int32_t struck;         /* 1 once it happened */
    int32_t keep_synced;    /* copy a file to `synced` when it is made durable */
    int32_t trace;          /* write a line per change to `log` */
    int32_t off;            /* 1: nothing is counted */
    int32_t pid;            /* who was struck */
    char operation[32];
    char path[LONGEST];
    char root[LONGEST];
    char synced[LONGEST];
    char log[LONGEST];
};

static struct control *control;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void load(void) {
    const char *name = getenv("CRASH_CONTROL");
    if (!name) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *place = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (place != MAP_FAILED) control = place;
}

static int is_below(const char *path) {
    size_t length = strlen(control->root);
    return length && !strncmp(path, control->root, length) && (path[length] == '/' || !path[length]);
}

static int path_of_fd(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, out, LONGEST - 1);
    if (length < 0) return 0;
    out[length] = 0;
    return out[0] == '/';
}

/* The whole path of a name in a folder; 0 if it is not below the root or nothing is counted. */
static int full_path(int folder, const char *name, char *out) {
    if (!control || control->off || !name) return 0;
    if (name[0] == '/') {
        snprintf(out, LONGEST, "%s", name);
    } else {
        char base[LONGEST];
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else if (!path_of_fd(folder, base)) {
            return 0;
        }
        snprintf(out, LONGEST, "%.*s/%s", LONGEST / 2, base, name);
    }
    return is_below(out);
}

static int full_path_of_fd(int fd, char *out) {
    if (!control || control->off) return 0;
    return path_of_fd(fd, out) && is_below(out);
}

static void trace(int64_t number, const char *operation, const char *path) {
    char line[LONGEST + 128];
    int length = snprintf(line, sizeof line, "%lld %d %s %s\n", (long long)number, (int)getpid(), operation, path);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, control->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (syscall(SYS_write, fd, line, (size_t)length) < 0) line[0] = 0;
    syscall(SYS_close, fd);
}

static void strike_down(void) {
    syscall(SYS_kill, 0, SIGKILL);
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts one change; returns the error that it is to fail with, 0 if it goes on. `takes_room`: a full disk refuses it. */
static int meet_fault(const char *operation, const char *path, int takes_room) {
    int saved = errno;
    if (control->struck && control->action == KILL_ALL) strike_down();
    int64_t number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    if (control->trace) trace(number, operation, path);
    if (control->struck && control->action == FULL && takes_room) return ENOSPC;
    errno = saved;
    if (number != control->target || control->action == COUNT) return 0;
    if ((control->action == NO_SPACE || control->action == FULL) && !takes_room) {
        control->target++; /* the next one that needs room */
        return 0;
    }
    snprintf(control->operation, sizeof control->operation, "%s", operation);
    snprintf(control->path, sizeof control->path, "%s", path);
    control->pid = getpid();
    control->struck = 1;
    switch (control->action) {
    case KILL_ALL: strike_down(); return 0;
    case KILL_ONE: syscall(SYS_kill, getpid(), SIGKILL); for (;;) pause();
    case IO_ERROR: return EIO;
    default: return ENOSPC;
    }
}

#define FAIL(operation, path, takes_room, failed) \
    do { \
        int error = meet_fault(operation, path, takes_room); \
        if (error) { errno = error; return failed; } \
    } while (0)

static void synced_name(int fd, char *out) {
    struct stat found;
    out[0] = 0;
    if (fstat(fd, &found) == 0)
        snprintf(out, LONGEST, "%.*s/%llu", LONGEST / 2, control->synced, (unsigned long long)found.st_ino);
}

/* Keeps what a file holds at the moment when it became durable. */
static void keep_synced(int fd) {
    char name[LONGEST], link[64], data[65536];
    synced_name(fd, name);
    if (!name[0]) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int from = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    if (from < 0) return;
    int to = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (ssize_t got; to >= 0 && (got = read(from, data, sizeof data)) > 0;)
        if (syscall(SYS_write, to, data, (size_t)got) < 0) break;
    syscall(SYS_close, from);
    if (to >= 0) syscall(SYS_close, to);
}

/* Nothing of a new file is durable; it may have the number of one that is gone. */
static int forget_synced(int fd) {
    if (fd >= 0 && control->keep_synced) {
        char name[LONGEST];
        synced_name(fd, name);
        int empty = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (empty >= 0) syscall(SYS_close, empty);
    }
    return fd;
}

static int is_missing(int folder, const char *name) {
    int saved = errno;
    int missing = syscall(SYS_faccessat, folder, name, F_OK) < 0 && errno == ENOENT;
    errno = saved;
    return missing;
}

static int changes_by_open(int folder, const char *name, int flags, char *path) {
    if (!(flags & (O_CREAT | O_TRUNC)) || !full_path(folder, name, path)) return 0;
    int missing = is_missing(folder, name);
    if (missing) return !!(flags & O_CREAT);
    return !!(flags & O_TRUNC) && !(flags & O_EXCL);
}

#define OPEN(name, folder, path_name, call) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    REAL(name); \
    char path[LONGEST]; \
    if (!changes_by_open(folder, path_name, flags, path)) return call; \
    FAIL("open", path, 1, -1); \
    return forget_synced(call)

int open(const char *name, int flags, ...) { OPEN(open, AT_FDCWD, name, real(name, flags, mode)); }
int open64(const char *name, int flags, ...) { OPEN(open64, AT_FDCWD, name, real(name, flags, mode)); }
int openat(int folder, const char *name, int flags, ...) { OPEN(openat, folder, name, real(folder, name, flags, mode)); }
int openat64(int folder, const char *name, int flags, ...) { OPEN(openat64, folder, name, real(folder, name, flags, mode)); }
int creat(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return open64(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static int flags_of_mode(const char *mode) {
    return mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
}

#define FOPEN(function) \
    FILE *function(const char *name, const char *mode) { \
        REAL(function); \
        char path[LONGEST]; \
        if (!changes_by_open(AT_FDCWD, name, flags_of_mode(mode), path)) return real(name, mode); \
        FAIL("open", path, 1, NULL); \
        FILE *file = real(name, mode); \
        if (file) forget_synced(fileno(file)); \
        return file; \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define MKSTEMP(function, arguments, call) \
    int function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (!full_path(AT_FDCWD, template, path)) return call; \
        FAIL("open", path, 1, -1); \
        return forget_synced(call); \
    }
MKSTEMP(mkstemp, (char *template), real(template))
MKSTEMP(mkstemp64, (char *template), real(template))
MKSTEMP(mkostemp, (char *template, int flags), real(template, flags))
MKSTEMP(mkostemp64, (char *template, int flags), real(template, flags))

char *mkdtemp(char *template) {
    REAL(mkdtemp);
    char path[LONGEST];
    if (full_path(AT_FDCWD, template, path)) FAIL("mkdir", path, 1, NULL);
    return real(template);
}

/* On a disk that becomes full the first half still fits. */
#define WRITE(function, arguments, call, half) \
    ssize_t function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (!full_path_of_fd(fd, path)) return call; \
        int was_struck = control->struck; \
        int error = meet_fault("write", path, 1); \
        if (error && control->action == FULL && !was_struck && size > 1) return half; \
        if (error) { errno = error; return -1; } \
        return call; \
    }
WRITE(write, (int fd, const void *data, size_t size), real(fd, data, size), real(fd, data, size / 2))
WRITE(pwrite, (int fd, const void *data, size_t size, off_t at), real(fd, data, size, at), real(fd, data, size / 2, at))
WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t at), real(fd, data, size, at),
      real(fd, data, size / 2, at))
WRITE(copy_file_range, (int from, off64_t *at, int fd, off64_t *to, size_t size, unsigned flags),
      real(from, at, fd, to, size, flags), real(from, at, fd, to, size / 2, flags))
WRITE(sendfile, (int fd, int from, off_t *at, size_t size), real(fd, from, at, size), real(fd, from, at, size / 2))
WRITE(sendfile64, (int fd, int from, off64_t *at, size_t size), real(fd, from, at, size), real(fd, from, at, size / 2))

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    char path[LONGEST];
    if (full_path_of_fd(fd, path)) FAIL("write", path, 1, -1);
    return real(fd, parts, count);
}

/* What was buffered and could not be written is dropped, or a later flush would write it after all. */
#define FLUSH(function) \
    int function(FILE *file) { \
        REAL(function); \
        char path[LONGEST]; \
        if (file && __fpending(file) && full_path_of_fd(fileno(file), path)) { \
            int error = meet_fault("write", path, 1); \
            if (error) { \
                __fpurge(file); \
                real(file); \
                errno = error; \
                return EOF; \
            } \
        } \
        return real(file); \
    }
FLUSH(fflush)
FLUSH(fclose)

#define BY_FD(function, operation, takes_room, arguments, call) \
    int function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (full_path_of_fd(fd, path)) FAIL(operation, path, takes_room, -1); \
        return call; \
    }
BY_FD(ftruncate, "truncate", 0, (int fd, off_t size), real(fd, size))
BY_FD(ftruncate64, "truncate", 0, (int fd, off64_t size), real(fd, size))
BY_FD(fchmod, "chmod", 0, (int fd, mode_t mode), real(fd, mode))
BY_FD(futimens, "utime", 0, (int fd, const struct timespec times[2]), real(fd, times))
BY_FD(futimes, "utime", 0, (int fd, const struct timeval times[2]), real(fd, times))

int posix_fallocate(int fd, off_t at, off_t size) {
    REAL(posix_fallocate);
    char path[LONGEST];
    int error = full_path_of_fd(fd, path) ? meet_fault("write", path, 1) : 0;
    return error ? error : real(fd, at, size);
}

#define SYNC(function) \
    int function(int fd) { \
        REAL(function); \
        char path[LONGEST]; \
        if (!full_path_of_fd(fd, path)) return real(fd); \
        FAIL("fsync", path, 1, -1); \
        int status = real(fd); \
        if (!status && control->keep_synced) keep_synced(fd); \
        return status; \
    }
SYNC(fsync)
SYNC(fdatasync)

#define BY_NAME(function, operation, takes_room, folder, name, arguments, call) \
    int function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (full_path(folder, name, path)) FAIL(operation, path, takes_room, -1); \
        return call; \
    }
/* What is there already, or is not there to be removed, changes nothing whatever the disk does. */
#define BY_NEW_NAME(function, operation, folder, name, arguments, call) \
    int function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (full_path(folder, name, path) && is_missing(folder, name)) FAIL(operation, path, 1, -1); \
        return call; \
    }
#define BY_OLD_NAME(function, operation, folder, name, arguments, call) \
    int function arguments { \
        REAL(function); \
        char path[LONGEST]; \
        if (full_path(folder, name, path) && !is_missing(folder, name)) FAIL(operation, path, 0, -1); \
        return call; \
    }
BY_NAME(rename, "rename", 1, AT_FDCWD, new, (const char *old, const char *new), real(old, new))
BY_NAME(renameat, "rename", 1, to, new, (int from, const char *old, int to, const char *new), real(from, old, to, new))
BY_NAME(renameat2, "rename", 1, to, new, (int from, const char *old, int to, const char *new, unsigned flags),
        real(from, old, to, new, flags))
BY_NEW_NAME(link, "link", AT_FDCWD, new, (const char *old, const char *new), real(old, new))
BY_NEW_NAME(linkat, "link", to, new, (int from, const char *old, int to, const char *new, int flags),
            real(from, old, to, new, flags))
BY_NEW_NAME(symlink, "symlink", AT_FDCWD, new, (const char *old, const char *new), real(old, new))
BY_NEW_NAME(symlinkat, "symlink", to, new, (const char *old, int to, const char *new), real(old, to, new))
BY_NEW_NAME(mkdir, "mkdir", AT_FDCWD, name, (const char *name, mode_t mode), real(name, mode))
BY_NEW_NAME(mkdirat, "mkdir", folder, name, (int folder, const char *name, mode_t mode), real(folder, name, mode))
BY_OLD_NAME(unlink, "unlink", AT_FDCWD, name, (const char *name), real(name))
BY_OLD_NAME(unlinkat, "unlink", folder, name, (int folder, const char *name, int flags), real(folder, name, flags))
BY_OLD_NAME(remove, "unlink", AT_FDCWD, name, (const char *name), real(name))
BY_OLD_NAME(rmdir, "rmdir", AT_FDCWD, name, (const char *name), real(name))
BY_OLD_NAME(truncate, "truncate", AT_FDCWD, name, (const char *name, off_t size), real(name, size))
BY_OLD_NAME(truncate64, "truncate", AT_FDCWD, name, (const char *name, off64_t size), real(name, size))
BY_OLD_NAME(chmod, "chmod", AT_FDCWD, name, (const char *name, mode_t mode), real(name, mode))
BY_OLD_NAME(fchmodat, "chmod", folder, name, (int folder, const char *name, mode_t mode, int flags),
            real(folder, name, mode, flags))
BY_OLD_NAME(utime, "utime", AT_FDCWD, name, (const char *name, const struct utimbuf *times), real(name, times))
BY_OLD_NAME(utimes, "utime", AT_FDCWD, name, (const char *name, const struct timeval times[2]), real(name, times))

int utimensat(int folder, const char *name, const struct timespec times[2], int flags) {
    REAL(utimensat);
    char path[LONGEST];
    if (full_path(folder, name, path) && !is_missing(folder, name)) FAIL("utime", path, 0, -1);
    return real(folder, name, times, flags);
}
