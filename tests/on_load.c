/* A library that does as ON_LOAD says where it is loaded: forks, takes a while between making the
   folders "begun" and "ended", or sends the process this signal. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void) {
  const char* what = getenv("ON_LOAD");
  if (what == NULL) return;
  if (strcmp(what, "take a while") == 0) {
    if (mkdir("begun", 0700) != 0) _exit(2);
    sleep(1);
    if (mkdir("ended", 0700) != 0) _exit(2);
    return;
  }
  if (strcmp(what, "fork") != 0) {
    kill(getpid(), atoi(what));
    return;
  }
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}
