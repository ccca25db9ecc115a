/* The second model: a pool of processes, made before there is a request. Each accepts a connection and serves it until it is closed
 * (Apache's prefork, php-fpm). Invariant: as many requests at once as there are processes; a further client waits in the kernel's queue. */
#include "model.h"
#include <sys/prctl.h>
#include <sys/wait.h>

enum { POOL = 128 };

int main(int argc, char **argv) {
    int listener = begin(argc, argv, SOCK_CLOEXEC);
    for (int i = 0; i < POOL; i++) {
        pid_t child = fork();
        if (child < 0) { perror("prefork: fork"); return 1; }
        if (child > 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
            without_delay(fd);
            serve_blocking(fd);
        }
        _exit(1);
    }
    while (wait(NULL) > 0 || errno == EINTR) {}
    return 1; /* all have ended: none should */
}
