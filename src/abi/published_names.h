// Published names (MPI 5.0 section 11.9.4): one small file for each name, in a folder that only this user can
// enter, so all processes of one user on one machine share them. The library creates no other named files
// unless a parameter requests them. A name whose port no longer exists is removed by the next lookup.
//
// Under the library's lock.
#pragma once

#include <string>

#include "base/status.h"

namespace hearth::abi {

/// MPI_ERR_PORT if there is no such port; MPI_ERR_SERVICE if the name is published, with a port that exists,
/// or if there is no private folder. `unique` false: the last port that this process published under the name
/// is replaced.
Status publish_name(const std::string& service, const std::string& port, bool unique);
/// MPI_ERR_SERVICE if the name is not published with this port.
Status unpublish_name(const std::string& service, const std::string& port);
/// MPI_ERR_NAME if the name is not published.
Status lookup_name(const std::string& service, std::string& port);
/// MPI_Finalize: removes the names that this process has published.
void unpublish_all_names();

}  // namespace hearth::abi
