// mpiexec: src/launch does the work.
#include "launch/mpiexec.h"

extern char** environ;

int main(int, char** arguments) {
  return hearth::launch::mpiexec(arguments, environ);
}
