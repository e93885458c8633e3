#include "lockstep/nets/layers/moment_exchange.h"

#include "lockstep/base/error.h"

namespace lockstep::nets {
namespace {

// A parameter of forward() that networks of any make cannot be made to hand on.
thread_local MomentExchange* current = nullptr;

}  // namespace

SyncBatchNormScope::SyncBatchNormScope(MomentExchange& exchange) {
  if (current != nullptr)
    throw Error(ErrorKind::kInternal, "scopes of synchronous batch norm must not be nested");
  current = &exchange;
}

SyncBatchNormScope::~SyncBatchNormScope() {
  current = nullptr;
}

MomentExchange* current_moment_exchange() {
  return current;
}

}  // namespace lockstep::nets
