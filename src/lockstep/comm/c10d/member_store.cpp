#include "lockstep/comm/c10d/member_store.h"

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

[[noreturn]] void not_offered(const char* what) {
  throw Error(ErrorKind::kInternal, std::string("c10d asked its store for ") + what);
}

std::string name_of(const std::string& key) {
  return "c10d/" + key;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> MemberStore::clone() {
  return c10::make_intrusive<MemberStore>(membership_, timeout_);
}

void MemberStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  membership_.put(name_of(key), std::string(value.begin(), value.end()));
}

std::vector<std::uint8_t> MemberStore::get(const std::string& key) {
  const std::string value = membership_.get(name_of(key), timeout_);
  return {value.begin(), value.end()};
}

void MemberStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) membership_.get(name_of(key), timeout_);
}

void MemberStore::wait(const std::vector<std::string>& keys,
                       const std::chrono::milliseconds& timeout) {
  for (const std::string& key : keys) membership_.get(name_of(key), Seconds(timeout));
}

std::int64_t MemberStore::add(const std::string&, std::int64_t) {
  not_offered("counters");
}

bool MemberStore::deleteKey(const std::string&) {
  not_offered("deletion");
}

bool MemberStore::check(const std::vector<std::string>&) {
  not_offered("what is there");
}

std::int64_t MemberStore::getNumKeys() {
  not_offered("the number of keys");
}

}  // namespace lockstep::comm
