// Messages of PMI-1 and PMI-2, one by one.
#include "launch/bootstrap_pmi_message.h"

#include "fuzz.h"

using namespace hearth;
using launch::PmiMessage;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string text = fuzz::Input(data, bytes).rest();
  size_t length = 0;
  if (launch::parse_pmi2_length(text.substr(0, launch::kPmi2LengthColumns), length)) {
    fuzz::demand(length >= 1 && length <= launch::kPmiBytesMax, "a message has a length that is taken");
  }
  PmiMessage message;
  PmiMessage again;
  int number = 0;
  if (launch::parse_pmi1(text, message)) {
    fuzz::demand(!message.command().empty(), "a message has a command");
    if (message.number("rc", number)) fuzz::demand(number >= 0, "numbers are not negative");
    const std::string line = launch::to_pmi1(message);
    fuzz::demand(launch::parse_pmi1(line.substr(0, line.size() - 1), again), "what we write we can read");
    fuzz::demand(again.fields() == message.fields(), "and it says the same");
  }
  if (launch::parse_pmi2(text, message)) {
    fuzz::demand(!message.command().empty(), "a message has a command");
    fuzz::demand(launch::parse_pmi2(launch::to_pmi2(message).substr(launch::kPmi2LengthColumns), again),
                 "what we write we can read");
    fuzz::demand(again.fields() == message.fields(), "and it says the same");
  }
  return 0;
}
