# Nix. Made from a template; not tested with Nix.
{
  description = "Personal knowledge store that runs on your own machine";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      pkgs = nixpkgs.legacyPackages.x86_64-linux;
    in {
      packages.x86_64-linux.default = pkgs.stdenvNoCC.mkDerivation {
        pname = "brain";
        version = "@VERSION@";
        src = pkgs.fetchurl {
          url = "@RELEASE_URL@/brain-@VERSION@-x86_64-linux.tar.gz";
          hash = "@SRI@";
        };
        # The programs are static and stripped.
        dontFixup = true;
        installPhase = ''
          mkdir -p $out
          cp -r bin lib share $out/
          substituteInPlace $out/lib/systemd/user/brain-daemon.service \
            --replace-fail /usr/bin/brain-daemon $out/bin/brain-daemon
        '';
        meta = {
          license = pkgs.lib.licenses.mit;
          mainProgram = "brain";
          platforms = [ "x86_64-linux" ];
        };
      };
    };
}
