// A binomial tree over ranks. Let v be a rank counted from the root, modulo the number of ranks. The parent
// of v is v without its lowest set bit, and its subtree is v ... v + lowest bit - 1, as far as they exist:
// consecutive ranks.
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
  /// Whether this rank has no children.
  bool is_leaf() const { return top_bit_ == 1 || !has_child(1); }
  /// Children are identified by one bit each, below this rank's lowest set bit. Returns the highest such bit,
  /// 0 if there is none.
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
  int top_bit_;  // the lowest set bit of place_; for the root the first power of two that is >= size_
};

}  // namespace hearth::coll
