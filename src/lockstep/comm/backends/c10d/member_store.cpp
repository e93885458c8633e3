#include "lockstep/comm/backends/c10d/member_store.h"

#include <chrono>
#include <thread>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

/// How long a check waits for the coordinator's answer.
constexpr Seconds kCheckWait{0.1};
/// Between two of them, in which close() gets its turn.
constexpr std::chrono::milliseconds kPause{1};

[[noreturn]] void not_implemented(const char* what) {
  throw Error(ErrorKind::kInternal,
              std::string("c10d called an unsupported operation of its store: ") + what);
}

}  // namespace

void MemberStore::close() {
  const std::lock_guard lock(link_->mutex);
  link_->membership = nullptr;
}

std::string MemberStore::value_of(const std::string& key, Seconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;; std::this_thread::sleep_for(kPause)) {
    const std::lock_guard lock(link_->mutex);
    if (link_->membership == nullptr) throw Error(ErrorKind::kPeer, "the run has ended");
    try {
      return link_->membership->get(name_of(key), kCheckWait);
    } catch (const Error&) {
      link_->membership->check();
      if (std::chrono::steady_clock::now() > deadline) throw;
    }
  }
}

c10::intrusive_ptr<c10d::Store> MemberStore::clone() {
  return c10::make_intrusive<MemberStore>(link_, name_);
}

void MemberStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  const std::lock_guard lock(link_->mutex);
  if (link_->membership == nullptr) throw Error(ErrorKind::kPeer, "the run has ended");
  link_->membership->put(name_of(key), std::string(value.begin(), value.end()));
}

std::vector<std::uint8_t> MemberStore::get(const std::string& key) {
  const std::string value = value_of(key, link_->timeout);
  return {value.begin(), value.end()};
}

void MemberStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) value_of(key, link_->timeout);
}

void MemberStore::wait(const std::vector<std::string>& keys,
                       const std::chrono::milliseconds& timeout) {
  for (const std::string& key : keys) value_of(key, Seconds(timeout));
}

std::int64_t MemberStore::add(const std::string&, std::int64_t) {
  not_implemented("counters");
}

bool MemberStore::deleteKey(const std::string&) {
  return false;
}

// A thread of recent LibTorch polls for a key that ranks in trouble set; an exception would end the
// process.
bool MemberStore::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(link_->mutex);
  if (link_->membership == nullptr) return false;
  try {
    for (const std::string& key : keys) link_->membership->get(name_of(key), kCheckWait);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::int64_t MemberStore::getNumKeys() {
  not_implemented("the number of keys");
}

}  // namespace lockstep::comm
