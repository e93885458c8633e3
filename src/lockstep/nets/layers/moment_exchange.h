#pragma once

#include <span>

namespace lockstep::nets {

/// Adds numbers up over all ranks, so that batch norms can see the global batch.
class MomentExchange {
 public:
  virtual ~MomentExchange() = default;
  /// Replaces the values by their sums over ranks. Blocks; every rank must call it equally often
  /// with equal sizes, so no rank may leave out a forward or backward pass.
  virtual void sum(std::span<double> values) = 0;
};

/// While it lives, batch norms of this thread that train take their moments over all ranks: mean
/// and variance in forward, and the two sums of their gradient in backward, which may run after
/// this object is destroyed but not after the exchange is. Scopes do not nest.
class SyncBatchNormScope {
 public:
  explicit SyncBatchNormScope(MomentExchange& exchange);
  ~SyncBatchNormScope();
  SyncBatchNormScope(const SyncBatchNormScope&) = delete;
  SyncBatchNormScope& operator=(const SyncBatchNormScope&) = delete;
};

/// The exchange of the scope that this thread is in; null outside of one.
MomentExchange* current_moment_exchange();

}  // namespace lockstep::nets
