// The man page of mpiexec: the options from their table, the variables from the table of parameters.
#include <string>
#include <vector>

#include "base/param.h"
#include "launch/man_page.h"
#include "launch/options.h"

namespace hearth::launch {
namespace {

struct Item {
  const char* term;
  const char* text;
};

// As in docs/guide/launching.md; tests/launch/test_man_pages.py compares the codes.
constexpr Item kExitCodes[] = {
    {"0", "Every rank ended with 0."},
    {"1 to 125",
     "The code of the first rank that failed, the code given to MPI_Abort (its low 8 bits, 1 if those are "
     "0), or the class of a fatal MPI error."},
    {"1",
     "A rank ended without MPI_Finalize; or ranks waited for ranks that had ended (--keep-waiting lets them "
     "wait)."},
    {"2", "Wrong command line; nothing was started."},
    {"124", "--timeout expired."},
    {"126, 127", "The program cannot be executed; does not exist."},
    {"128 + N", "A rank was killed by signal N."},
};

constexpr Item kFiles[] = {
    {"$XDG_CONFIG_HOME/hearth/profile.json (~/.config)",
     "A tuning profile of this machine. The first of these files that fits the machine is used, unless "
     "HEARTH_PROFILE names another."},
    {"$XDG_CACHE_HOME/hearth/profile.json (~/.cache)", "The profile that hearth tune has measured."},
    {"/etc/hearth/profile.json", "The profile for all users of the machine."},
};

void describe(ManPage& page) {
  page.section("DESCRIPTION");
  page.paragraph(
      "mpiexec starts ranks of MPI programs, or of any programs, on this machine. mpirun is the same "
      "command. A colon begins another program of the same job; ranks are numbered in the order of the "
      "programs. If --host or --hostfile names another machine, PRRTE, Hydra or Slurm starts the job.");
  page.paragraph(
      "The names of the options are those of Open MPI and of MPICH. Options may begin with one dash or two; "
      "a value follows as the next word or after an equals sign. The first word that is not an option is "
      "the program; -- ends the options.");
  page.paragraph(
      "Standard input goes to rank 0. Output appears in whole lines. SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, "
      "SIGTSTP and SIGCONT are forwarded to the ranks. Ctrl-C interrupts all ranks, a second Ctrl-C kills "
      "them. Ctrl-\\ prints which rank waits for which, then ends the job.");
}

void list_options(ManPage& page) {
  page.section("OPTIONS");
  std::vector<std::string> without_effect;
  for (const OptionText& option : option_texts()) {
    if (option.text == nullptr) {
      without_effect.insert(without_effect.end(), option.names.begin(), option.names.end());
    } else {
      page.option(option.names, option.arguments, option.text);
    }
  }
  page.names(
      "The following options have no effect on one machine. They are accepted with their values, and mpiexec "
      "names them in one line:",
      without_effect);
}

void list_variables(ManPage& page) {
  page.section("ENVIRONMENT");
  page.item("MPIEXEC_TIMEOUT", "Seconds, with the meaning of --timeout.");
  page.subsection("Parameters");
  page.paragraph(
      "mpiexec and the ranks read these variables. Sizes accept K, M, G; times accept ns, us, ms, s. hearth "
      "info prints each value in force and its source.");
  for (const param::Row& row : param::rows()) page.item(row.environment, row.text);
}

}  // namespace

std::string man_page_text() {
  ManPage page({"mpiexec", "mpirun"}, "start the ranks of an MPI job", "Hearth MPI " HEARTH_VERSION);
  page.section("SYNOPSIS");
  page.form("mpiexec", "[options] program [arguments] [: [options] program [arguments]]...");
  describe(page);
  list_options(page);
  page.section("EXIT STATUS");
  for (const Item& code : kExitCodes) page.item(code.term, code.text);
  list_variables(page);
  page.section("FILES");
  for (const Item& file : kFiles) page.item(file.term, file.text);
  page.see_also({"hearth", "mpicc", "mpicxx"});
  return page.text();
}

}  // namespace hearth::launch
