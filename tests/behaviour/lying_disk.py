"""A disk that confirms writes and flushes and drops them: lying_disk.py IMAGE MOUNT_POINT.

Both are files. MOUNT_POINT becomes a file with the bytes of IMAGE, served over /dev/fuse without
the kernel's cache, for a loop device. Once IMAGE.lies exists, writes are confirmed and dropped;
the device below still has what it had. The program ends when MOUNT_POINT is unmounted.
"""
import os
import struct
import subprocess
import sys

image, mount_point = sys.argv[1:]
disk = os.open(image, os.O_RDWR)
size = os.fstat(disk).st_size
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=100600,user_id=0,group_id=0"
mount = ["mount", "-i", "-t", "fuse", "-o", options, "lying-disk", mount_point]
subprocess.run(mount, pass_fds=[fuse], check=True)

attributes = struct.pack("<6Q10I", 1, size, size // 512, 0, 0, 0, 0, 0, 0, 0o100600, 1, 0, 0, 0, 4096, 0)
GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, FORGET, INIT, INTERRUPT = 3, 4, 14, 15, 16, 17, 2, 26, 36
QUIET = {18: b"", 20: b"", 25: b"", 50: b""}  # release, fsync, flush, syncfs: confirmed

while True:
    try:
        request = os.read(fuse, 1 << 21)
    except OSError:
        break
    length, opcode, unique = struct.unpack_from("<IIQ", request)
    body = request[40:]
    error, reply = 0, b""
    if opcode == INIT:
        reply = struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 0, 12, 8, 1 << 17, 1, 32, 0, *[0] * 8)
    elif opcode in (GETATTR, SETATTR):
        reply = struct.pack("<QII", 3600, 0, 0) + attributes
    elif opcode == OPEN:
        reply = struct.pack("<QII", 1, 1, 0)  # FOPEN_DIRECT_IO
    elif opcode == READ:
        offset, count = struct.unpack_from("<QI", body, 8)
        reply = os.pread(disk, count, offset)
    elif opcode == WRITE:
        offset, count = struct.unpack_from("<QI", body, 8)
        if not os.path.exists(image + ".lies"):
            os.pwrite(disk, body[40 : 40 + count], offset)
        reply = struct.pack("<II", count, 0)
    elif opcode == STATFS:
        reply = struct.pack("<5Q10I", 0, 0, 0, 1, 1, 4096, 255, 4096, *[0] * 7)
    elif opcode in QUIET:
        reply = QUIET[opcode]
    elif opcode in (FORGET, INTERRUPT, 42):
        continue
    else:
        error = -38  # ENOSYS
    os.write(fuse, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)
