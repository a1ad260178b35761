// The endpoint addresses that ranks publish through a launcher's server: one from the input, and a job of
// several.
#include "launch/bootstrap_node.h"

#include "fuzz.h"
#include "launch/bootstrap_words.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const auto* from = reinterpret_cast<const std::byte*>(data);
  launch::NodeAddress published;
  if (launch::parse_address({from, bytes}, published)) {
    launch::NodeAddress again;
    fuzz::demand(launch::parse_address(launch::to_bytes(published), again) && again == published,
                 "a card that is written again says the same");
    launch::NodeAddress other;
    other.surroundings = "elsewhere";
    const std::vector<launch::NodeAddress> published_by = {published, other, published};
    const launch::NodeMap nodes = launch::map_nodes(published_by);
    fuzz::demand(nodes.node_of.size() == published_by.size() && nodes.node_of[0] == nodes.node_of[2],
                 "the same surroundings are the same node");
  }
  std::string_view text(reinterpret_cast<const char*>(data), bytes);
  std::vector<std::byte> decoded;
  if (launch::from_hex(text, decoded)) {
    fuzz::demand(launch::to_hex(decoded) == text, "digits that are written again are the same");
  }
  fuzz::demand(launch::printable(text).size() <= text.size() + 3, "words do not grow");
  return 0;
}
