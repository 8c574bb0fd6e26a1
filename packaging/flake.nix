# Nix. Made from a template; not tested with Nix.
{
  description = "Personal knowledge store that runs on your own machine";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      hashes = {
        x86_64-linux = "@SRI_X86_64@";
        aarch64-linux = "@SRI_AARCH64@";
      };
      brain = system: hash:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in pkgs.stdenvNoCC.mkDerivation {
          pname = "brain";
          version = "@VERSION@";
          src = pkgs.fetchurl {
            url = "@RELEASE_URL@/brain-@VERSION@-${system}.tar.gz";
            inherit hash;
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
            platforms = [ system ];
          };
        };
    in {
      packages = builtins.mapAttrs (system: hash: { default = brain system hash; }) hashes;
    };
}
