// Division of ranks into trees and of elements into shares.
#include <gtest/gtest.h>

#include <set>

#include "coll/blocks.h"
#include "coll/tree.h"

namespace hearth::coll {
namespace {

/// All ranks of the subtree of `rank`, found by walking down.
std::set<int> subtree(int rank, int size, int root) {
  const Tree tree(rank, size, root);
  std::set<int> ranks = {rank};
  for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
    if (tree.has_child(bit)) ranks.merge(subtree(tree.child(bit), size, root));
  }
  return ranks;
}

TEST(Tree, ReachesEveryRankOnce) {
  for (int size = 1; size <= 40; ++size) {
    for (int root = 0; root < size; ++root) {
      EXPECT_EQ(static_cast<int>(subtree(root, size, root).size()), size);
      for (int rank = 0; rank < size; ++rank) {
        const Tree tree(rank, size, root);
        ASSERT_EQ(tree.is_root(), rank == root);
        ASSERT_EQ(static_cast<int>(subtree(rank, size, root).size()), tree.subtree_size());
        bool has_children = false;
        for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
          if (!tree.has_child(bit)) continue;
          has_children = true;
          const Tree child(tree.child(bit), size, root);
          ASSERT_EQ(child.parent(), rank);
          ASSERT_EQ(child.subtree_size(), tree.child_size(bit));
          // A subtree is one range of ranks from its top on, so its data can be sent as one message.
          ASSERT_EQ(tree.rank_after(bit), tree.child(bit));
        }
        ASSERT_EQ(tree.is_leaf(), !has_children);
      }
    }
  }
}

TEST(Shares, CoverAllElementsInOrder) {
  for (const Count count : {Count{0}, Count{1}, Count{5}, Count{16}, Count{17}, Count{1} << 40}) {
    for (int ranks = 1; ranks <= 20; ++ranks) {
      const Shares shares(count, ranks);
      Count end = 0;
      for (int share = 0; share < ranks; ++share) {
        ASSERT_EQ(shares.begin(share), end);
        ASSERT_LE(shares.count(share), shares.count_max());
        ASSERT_GE(shares.count(share), shares.count_max() - 1);
        end += shares.count(share);
      }
      ASSERT_EQ(end, count);
    }
  }
}

}  // namespace
}  // namespace hearth::coll
