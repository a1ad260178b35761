// The `hearth` command: only parses options; the files named like the subcommands do the work.
#pragma once

namespace hearth::tools {

/// `words` as of main(), `count` of them. Returns the exit code; errors are on the standard error stream.
int run_hearth(int count, char** words);

}  // namespace hearth::tools
