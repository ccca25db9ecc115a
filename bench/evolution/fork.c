/* The first model: a process for each request. It is made when the client connects, answers once and ends (CGI, inetd).
 *
 * Context switches of processes that have ended are in no file of /proc, so the parent says what getrusage() knows of itself and of
 * them: at SIGUSR1 it writes both counts to the file "switches" of its working directory.
 * Invariant: at most PROCESSES_MAX at once; then the next client waits in the kernel's queue.
 */
#include "model.h"
#include <sys/resource.h>
#include <sys/wait.h>

enum { PROCESSES_MAX = 2000 };

static volatile sig_atomic_t asked;

static void ask(int number) { (void)number; asked = 1; }

static void tell(void) {
    struct rusage own, ended;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &ended);
    FILE *file = fopen("switches.new", "w");
    if (file == NULL) { perror("fork: switches"); return; }
    fprintf(file, "%ld %ld\n", own.ru_nvcsw + ended.ru_nvcsw, own.ru_nivcsw + ended.ru_nivcsw);
    fclose(file);
    rename("switches.new", "switches");
    asked = 0;
}

static void answer_once(int fd) {
    char head[HEAD_BYTES_MAX];
    struct request r;
    if (!parse(head, recv(fd, head, sizeof head, 0), &r)) return;
    uint32_t hash = compute(r.seed);
    if (r.waits) nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
    answered(fd, hash, 1);
}

int main(int argc, char **argv) {
    int listener = begin(argc, argv, SOCK_CLOEXEC), processes = 0;
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ask }, NULL);
    for (;;) {
        if (asked) tell();
        while (waitpid(-1, NULL, processes < PROCESSES_MAX ? WNOHANG : 0) > 0) processes--;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) continue; /* the signal */
        without_delay(fd);
        pid_t child = fork();
        if (child == 0) {
            close(listener);
            answer_once(fd);
            _exit(0);
        }
        if (child > 0) processes++;
        else perror("fork");
        close(fd);
    }
}
