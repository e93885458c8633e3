#include "lockstep/comm/rendezvous/mac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "lockstep/base/error.h"

namespace lockstep::comm {

Mac compute_mac(std::span<const std::byte> key, std::span<const std::byte> message) {
  Mac mac{};
  unsigned length = 0;
  // HMAC() reads a null key as "the key of the call before".
  static constexpr unsigned char kEmpty = 0;
  const auto* computed =
      ::HMAC(::EVP_sha256(), key.empty() ? static_cast<const void*>(&kEmpty) : key.data(),
             static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
             message.size(), reinterpret_cast<unsigned char*>(mac.data()), &length);
  if (computed == nullptr || length != mac.size()) {
    throw Error(ErrorKind::kInternal, "OpenSSL cannot compute HMAC-SHA-256");
  }
  return mac;
}

bool equal_in_constant_time(const Mac& a, const Mac& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace lockstep::comm
