# Homebrew on Linux. Made from a template; not tested with Homebrew.
class Brain < Formula
  desc "Personal knowledge store that runs on your own machine"
  homepage "@RELEASE_URL@"
  version "@VERSION@"
  license "MIT"

  depends_on :linux

  on_intel do
    url "@RELEASE_URL@/brain-@VERSION@-x86_64-linux.tar.gz"
    sha256 "@SHA256_X86_64@"
  end
  on_arm do
    url "@RELEASE_URL@/brain-@VERSION@-aarch64-linux.tar.gz"
    sha256 "@SHA256_AARCH64@"
  end

  def install
    bin.install "bin/brain", "bin/brain-convert", "bin/brain-daemon"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/brain"
    zsh_completion.install "share/zsh/site-functions/_brain"
    fish_completion.install "share/fish/vendor_completions.d/brain.fish"
    doc.install Dir["share/doc/brain/*"]
  end

  test do
    ENV["BRAIN_HOME"] = testpath/"home"
    ENV["BRAIN_HTTP_LOCAL"] = ENV["BRAIN_HTTP_PUBLIC"] = "off"
    system bin/"brain", "capture", "a thought about latency"
    assert_match "latency", shell_output("#{bin}/brain search latency")
    system bin/"brain", "stop"
  end
end
