#include "hearth_page.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "launch/man_page.h"

namespace hearth::tools {
namespace {

using launch::ManPage;

// Lets --help and the page describe a value in the same words.
const CLI::Formatter kFormatter{};

struct Command {
  std::string name;  // with the names of the commands that it belongs to
  const CLI::App* app;
};

// The commands below `app`, each followed by its own.
void add_commands(const std::string& name, const CLI::App& app, std::vector<Command>& commands) {
  for (const CLI::App* below : app.get_subcommands({})) {
    const std::string full_name = name + " " + below->get_name();
    commands.push_back({full_name, below});
    add_commands(full_name, *below, commands);
  }
}

bool is_hidden(const CLI::Option* option) {
  return option->get_group().empty();
}

std::string form_of(const CLI::App& app) {
  std::string form = "[options]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() && !is_hidden(option)) form += " " + kFormatter.make_option_usage(option);
  }
  return form;
}

void list_options(const CLI::App& app, const CLI::Option* left_out, ManPage& page) {
  for (const CLI::Option* option : app.get_options()) {
    if (is_hidden(option) || option == left_out) continue;
    const std::string names =
        option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    page.option(CLI::detail::split(names, ','), kFormatter.make_option_opts(option),
                option->get_description());
  }
}

}  // namespace

std::string man_page_text(const CLI::App& app) {
  std::vector<Command> commands;
  add_commands("hearth", app, commands);
  ManPage page({"hearth"}, app.get_description(), "Hearth MPI " HEARTH_VERSION);
  page.section("SYNOPSIS");
  for (const Command& command : commands) page.form(command.name, form_of(*command.app));
  page.section("DESCRIPTION");
  page.paragraph(
      "hearth shows the build, the machine and the parameters in force, measures messages between ranks, "
      "tunes the library for the machine, and explains why running jobs wait.");
  page.section("OPTIONS");
  list_options(app, nullptr, page);
  page.section("COMMANDS");
  page.paragraph("Each command accepts --help.");
  for (const Command& command : commands) {
    page.subsection(command.name);
    page.paragraph(command.app->get_description());
    list_options(*command.app, command.app->get_help_ptr(), page);
    if (!command.app->get_footer().empty()) page.lines(command.app->get_footer());
  }
  page.section("EXIT STATUS");
  page.item("0", "Success. For hearth doctor: jobs have what they need.");
  page.item("1", "The command failed and printed why. For hearth doctor: something is missing.");
  page.item("100 to 127", "Wrong command line.");
  page.section("ENVIRONMENT");
  page.paragraph("The variables of mpiexec(1). hearth info prints their values and sources.");
  page.section("FILES");
  page.paragraph(
      "The tuning profiles of mpiexec(1). hearth tune writes $XDG_CACHE_HOME/hearth/profile.json.");
  page.see_also({"mpiexec", "mpicc"});
  return page.text();
}

}  // namespace hearth::tools
