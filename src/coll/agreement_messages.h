// Agreements by messages: agreement_messages.cpp.
#pragma once

namespace hearth::coll {

/// Drops all stored and pending messages, which belong to an engine that no longer exists.
void set_up_agreements_by_messages();

}  // namespace hearth::coll
