#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <mutex>
#include <string>

#include "lockstep/comm/context.h"
#include "lockstep/comm/rendezvous/membership.h"

namespace lockstep::comm {

/// The authenticated connection to the coordinator, as the store through which c10d exchanges
/// addresses. Implements what that needs: set, get, wait and check.
class MemberStore final : public c10d::Store {
  struct Link;

 public:
  /// Keys of different names do not collide.
  MemberStore(const Context& context, std::string name)
      : MemberStore(std::make_shared<Link>(context), std::move(name)) {}
  /// As clone() makes it.
  MemberStore(std::shared_ptr<Link> link, std::string name)
      : link_(std::move(link)), name_(std::move(name)) {}

  /// From now on this store and its clones answer that there is nothing, and do not use the
  /// membership any more: c10d's threads may outlive it when a run fails. What waits for a value
  /// throws kPeer; blocks for 0.1 s at most.
  void close();

  /// Called by recent LibTorch; earlier versions have no such function to override.
  c10::intrusive_ptr<c10d::Store> clone();
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;

 private:
  struct Link {
    explicit Link(const Context& context)
        : membership(context.membership), timeout(context.timeout) {}
    std::mutex mutex;
    Membership* membership;  ///< null after close()
    Seconds timeout;
  };

  std::string name_of(const std::string& key) const { return name_ + "/" + key; }
  std::string value_of(const std::string& key, Seconds timeout) const;

  std::shared_ptr<Link> link_;
  std::string name_;
};

}  // namespace lockstep::comm
