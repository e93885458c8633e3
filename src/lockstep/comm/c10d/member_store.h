#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "lockstep/comm/membership.h"

namespace lockstep::comm {

/// The ranks' line to their coordinator, as the store that c10d wants for the exchange of
/// addresses. Offers what that takes: set, get and wait.
class MemberStore final : public c10d::Store {
 public:
  MemberStore(Membership& membership, Seconds timeout)
      : membership_(membership), timeout_(timeout) {}

  /// Asked for by recent LibTorch; earlier versions have no such function to override.
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
  Membership& membership_;
  Seconds timeout_;
};

}  // namespace lockstep::comm
