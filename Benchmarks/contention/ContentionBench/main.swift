import Glibc

// Prints the cost of a request for other threads when 1 to 64 threads make requests: writes to shared lines, failed
// compare-exchanges, locks that are taken, futex calls. Markdown.
// usage: contentionbench [REQUESTS]     of each thread; 40 by default

let requests = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 40
guard Crew.countsWork else {
    print("contentionbench: nothing is counted; build it with OCELLI_COUNT=1 (Benchmarks/contention/run)")
    exit(1)
}
let problems = SelfCheck.problems
guard problems.isEmpty else {
    for problem in problems { print("contentionbench: \(problem)") }
    exit(1)
}

func cell(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }

print(
    "| part | threads | shared writes | of them counts of references | atomic writes | memory of others freed | "
        + "failed exchanges | locks taken | futex calls |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for part in try Part.all() {
    for threads in [1, 2, 4, 8, 16, 32, 64] {
        let request = part.request(threads)
        let crew = Crew(threads: threads, requests: requests, everyThread: part.everyThread)
        // The server's own threads are not scheduled in turns.
        let most = crew.run(part.everyThread ? .atOnce : .inTurn, request)
        let meeting = part.everyThread ? most : crew.run(.meeting, request)
        let cells = [
            most.moved, most.movedCounts, most.atomic, most.foreignFrees, meeting.failed, meeting.taken, meeting.futex,
        ].map(cell)
        print("| \(part.name) | \(threads) | " + cells.joined(separator: " | ") + " |")
    }
}
