#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Workers also on a machine with one processor, and without spinning past the others' turns.
  setenv("TILEWRIGHT_NUM_THREADS", "4", 0);
  return doctest::Context(argc, argv).run();
}
