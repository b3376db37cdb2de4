import Glibc

// Prints what a request costs others when 1 to 64 threads make requests: writes to shared lines, failed
// compare-exchanges, locks that are taken, futex calls. Markdown.
// usage: contentionbench [REQUESTS]     of each thread; 200 by default

let requests = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200
guard Crew.countsWork else {
    print("contentionbench: nothing is counted; build it with OCELLI_COUNT=1 (Benchmarks/contention/run)")
    exit(1)
}

func cell(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }

print(
    "| part | threads | shared writes | of them counts of references | atomic writes | failed exchanges | "
        + "locks taken | futex calls |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for part in try Part.all() {
    for threads in [1, 2, 4, 8, 16, 32, 64] {
        let request = part.request(threads)
        let turns = Crew(threads: threads, requests: requests, everyThread: part.everyThread)
        let inTurn = part.everyThread ? nil : turns.run(inTurn: true, request)
        let atOnce = turns.run(inTurn: false, request)
        // In turn each shared line has moved since the thread's last request: the most that there can be.
        let exact = inTurn ?? atOnce
        let cells = [
            exact.moved, exact.movedCounts, exact.atomic, atOnce.failed, atOnce.taken, atOnce.futex,
        ].map(cell)
        print("| \(part.name) | \(threads) | " + cells.joined(separator: " | ") + " |")
    }
}
