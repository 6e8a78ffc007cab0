/* The wall clock of a process, set while it runs: what the system says, and as many ms more as a file holds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *more;
static int (*system_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SET_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    if (file >= 0) {
        void *found = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        more = found == MAP_FAILED ? NULL : found;
        close(file);
    }
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!system_clock)
        begin();
    int failed = system_clock(id, now);
    if (!failed && more && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t nanos = now->tv_nsec + *more % 1000 * 1000000;
        now->tv_sec += *more / 1000 + (nanos >= 1000000000) - (nanos < 0);
        now->tv_nsec = (nanos + 1000000000) % 1000000000;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now)
        *now = found.tv_sec;
    return found.tv_sec;
}
