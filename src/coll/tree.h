// A binomial tree over ranks. Counted from the root around the circle, rank v hangs below v without its
// lowest set bit, and its subtree is the v .. v + lowest bit - 1 that exist: consecutive ranks.
//
//   0 --- 4 --- 6 --- 7        a subtree is sent or received as one run of blocks
//   |     '---- 5
//   |---- 2 --- 3
//   '---- 1
#pragma once

#include <algorithm>

namespace hearth::coll {

class Tree {
 public:
  Tree(int rank, int size, int root) : size_(size), root_(root), place_((rank - root + size) % size) {
    top_bit_ = 1;
    while (top_bit_ < size_ && (place_ & top_bit_) == 0) top_bit_ *= 2;
  }

  bool is_root() const { return place_ == 0; }
  /// Whether there is nothing below.
  bool is_leaf() const { return top_bit_ == 1 || !has_child(1); }
  /// Children are named by one bit each, below this rank's lowest set bit. The highest such bit, 0 for none.
  int top_bit() const { return top_bit_ / 2; }
  bool has_child(int bit) const { return place_ + bit < size_; }
  int child(int bit) const { return rank_at(place_ + bit); }
  /// Ranks in the child's subtree.
  int child_size(int bit) const { return std::min(bit, size_ - place_ - bit); }
  int parent() const { return rank_at(place_ - top_bit_); }
  /// Ranks in this rank's subtree, itself included.
  int subtree_size() const { return std::min(top_bit_, size_ - place_); }
  /// The rank `offset` places after this one, counted from the root.
  int rank_after(int offset) const { return rank_at(place_ + offset); }

 private:
  int rank_at(int place) const { return (place + root_) % size_; }

  int size_;
  int root_;
  int place_;
  int top_bit_;  // the lowest set bit of place_; for the root a power of two that is not below size_
};

}  // namespace hearth::coll
