#pragma once

#include <string>
#include <string_view>

#include "lockstep/collect/run_digest.h"

namespace lockstep::collect {

/// Names the text of digest_text(); changes whenever the text or what it is computed from does.
inline constexpr std::string_view kDigestForm = "page-steps-1";

/// The breakdown and the steps of a run's digest, to be kept with the run.
std::string digest_text(const RunDigest& digest);

/// Puts the breakdown and the steps that digest_text() wrote into the digest, bit for bit. False,
/// and nothing changed, for any other text.
bool read_digest(const std::string& text, RunDigest& digest);

}  // namespace lockstep::collect
