#include "coll/reduction_shape.h"

#include "base/param.h"
#include "coll/flat_slots.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/tree_slots.h"

namespace hearth::coll {

Shape reduction_shape(const Schedule& schedule, Collective collective, Count count, const Type& type,
                      const Op& op) {
  static const bool same_bits = param::get_flag(param::Id::coll_same_bits);
  const int64_t bytes = count * type.size;
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .count = count,
              .commutative = op.commutative,
              .pipeline = PipelineReduction::fits(schedule, type),
              .flat = fits_flat_slots(schedule.region(), collective, bytes),
              .same_bits = same_bits,
              .tree = type.contiguous && fits_tree(schedule.region(), collective, bytes),
              .context = schedule.context(),
              .whole_bytes_max = schedule.region() == nullptr ? 0 : schedule.region()->whole_bytes_max()};
  describe_machines(schedule, shape);
  return shape;
}

}  // namespace hearth::coll
