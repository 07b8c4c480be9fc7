#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright {

/// Runs body in a forked child; true where it returned true. A child that hangs is ended by its
/// alarm and counts as false.
template <class Body>
bool in_child(Body&& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tilewright
