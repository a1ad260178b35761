// Agreements by messages: agreement_messages.cpp.
#pragma once

namespace hearth::coll {

/// Begins anew: what has come, and what is on its way, belongs to an engine that is gone.
void set_up_agreements_by_messages();

}  // namespace hearth::coll
