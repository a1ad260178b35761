// Values of HEARTH_... variables: any text for any parameter.
#include "base/param.h"

#include "fuzz.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  const auto id = static_cast<param::Id>(input.below(static_cast<size_t>(param::Id::count_)));
  int64_t number = 0;
  if (!param::parse(id, input.rest(), number)) {
    fuzz::demand(!param::expected_form(id).empty(), "a text that is refused has a form that is expected");
    return 0;
  }
  fuzz::demand(number >= param::kAutomatic, "no parameter is negative");
  const auto index = static_cast<size_t>(id);
  const std::vector<param::Row> parameters = param::rows();
  const param::Row row =
      index < parameters.size() ? parameters[index] : param::test_rows()[index - parameters.size()];
  if (number >= 0 && row.kind != param::Kind::text) {
    int64_t again = -1;
    fuzz::demand(param::parse(id, std::to_string(number), again) && again == number,
                 "a number that is written out means the same");
  }
  return 0;
}
