"""Packs the Python package over the runtime into a wheel (PEP 427): the module that cargo built, and
what lies in host/python/package. Equal files give equal bytes.

    python3 tools/wheel/pack.py target/release/libauto_cbin.so VERSION target/wheel

Called by `cargo xtask wheel`; prints the path of the wheel.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

NAME = "auto_cbin"
PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "host/python/package"
METADATA = """Metadata-Version: 2.1
Name: auto-cbin
Version: {version}
Summary: Runs .cbin artifacts: WebAssembly modules with no imports that answer or abstain
License: Apache-2.0
Requires-Python: >=3.10
Classifier: Typing :: Typed
"""
WHEEL = """Wheel-Version: 1.0
Generator: auto-xtask
Root-Is-Purelib: false
Tag: {tag}
"""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    module, version, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    tag = "cp310-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    files = {f"{NAME}/{path.name}": path.read_bytes() for path in PACKAGE.iterdir() if path.is_file()}
    files[f"{NAME}/_native.abi3.so"] = module.read_bytes()
    info = f"{NAME}-{version}.dist-info"
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{NAME}-{version}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in sorted(files):
            # The first time that the format knows: no clock.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name])
    print(target)


main()
