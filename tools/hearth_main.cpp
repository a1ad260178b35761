// The program `hearth`, in builds where it and mpiexec are two programs (one_program.cpp is the other form).
#include "hearth.h"

int main(int count, char** words) {
  return hearth::tools::run_hearth(count, words);
}
