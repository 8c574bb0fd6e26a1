"""How fast the reference library is: `speed.py MODEL-DIRECTORY THREADS`, a list of texts in JSON on standard input, figures in JSON out."""

import json
import sys
import time

import torch
from sentence_transformers import SentenceTransformer


def main():
    torch.set_num_threads(int(sys.argv[2]))
    texts = json.load(sys.stdin)
    model = SentenceTransformer(sys.argv[1], device="cpu")
    model.encode(texts[:32])
    best = None
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        model.encode(texts, normalize_embeddings=True, batch_size=32)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if best is None or wall < best[0]:
            best = wall, cpu
    queries = []
    for _ in range(50):
        began = time.perf_counter()
        model.encode(["who did we meet at the harbour last summer"], normalize_embeddings=True)
        queries.append(time.perf_counter() - began)
    with open("/proc/self/status") as status:
        rss = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))
    print(json.dumps({"wall": best[0], "cpu": best[1], "query": sorted(queries)[25], "rss": rss}))


main()
