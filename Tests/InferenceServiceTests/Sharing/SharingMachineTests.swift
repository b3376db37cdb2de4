import InferenceService
import SystemSupport
internal import Tasks
import TestSupport
import Testing

/// The decisions about requests and cached answers, without threads.
@Suite struct SharingMachineTests {
    typealias Machine = SharingMachine<String, String>

    private static func key(_ number: UInt64) -> SipHash.Key { SipHash.Key(low: number, high: 0) }
    private static func at(_ seconds: UInt64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }
    private static func machine(capacity: Int = 100, age: Duration = .seconds(10)) -> Machine {
        Machine(Machine.Limits(capacity: capacity, age: age))
    }

    private static func arrive(
        _ machine: inout Machine, _ key: SipHash.Key, _ content: String, _ now: MonotonicInstant
    ) -> String {
        var arrival = machine.arrive(key, content, compared: nil, at: now)
        if case .compare(let run, let other) = arrival {
            arrival = machine.arrive(key, content, compared: (run, other == content), at: now)
        }
        return text(arrival)
    }

    private static func text(_ arrival: Machine.Arrival) -> String {
        switch arrival {
        case .hit(let answer): "hit \(answer)"
        case .leads(let run): "leads \(run)"
        case .joins(let run): "joins \(run)"
        case .alone: "alone"
        case .compare(let run, _): "compare \(run)"
        }
    }

    @Test("the first request leads, others join, and later ones hit until the answer is too old")
    func story() {
        var machine = Self.machine()
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 1")
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "joins 1")
        #expect(Self.arrive(&machine, Self.key(2), "b", Self.at(0)) == "leads 2")
        machine.end(1, Self.key(1), others: 1, kept: ("A", 10), at: Self.at(1))
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(10)) == "hit A")
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(11)) == "leads 3")
        let usage = machine.usage
        #expect((usage.answers, usage.bytes) == (0, 0))
        #expect((usage.hits, usage.joined, usage.misses) == (1, 1, 3))
    }

    @Test("another content with the same key is computed without sharing")
    func otherContent() {
        var machine = Self.machine()
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 1")
        #expect(Self.arrive(&machine, Self.key(1), "b", Self.at(0)) == "alone")
    }

    @Test("only the last request that leaves cancels the work, and the next one begins anew")
    func leaving() {
        var machine = Self.machine()
        _ = Self.arrive(&machine, Self.key(1), "a", Self.at(0))
        _ = Self.arrive(&machine, Self.key(1), "a", Self.at(0))
        // The third call finds no request left.
        for cancels in [false, true, false] {
            let last = machine.leave(1, Self.key(1))
            #expect(last == cancels)
        }
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 2")
        machine.end(1, Self.key(1), kept: ("late", 10), at: Self.at(0))
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "joins 2", "the end of a run that was left")
        #expect(machine.usage.answers == 0)
    }

    @Test("a request that was compared with a run that is over is compared with the current one")
    func comparison() {
        var machine = Self.machine(capacity: 0)
        func arrive(_ compared: (run: UInt64, isEqual: Bool)?) -> String {
            Self.text(machine.arrive(Self.key(1), "a", compared: compared, at: Self.at(0)))
        }
        #expect(arrive(nil) == "leads 1")
        #expect(arrive(nil) == "compare 1")
        machine.end(1, Self.key(1), kept: nil, at: Self.at(0))
        #expect(arrive((1, true)) == "leads 2")
        #expect(arrive((1, true)) == "compare 2")
        #expect(arrive((2, true)) == "joins 2")
        #expect(arrive((2, false)) == "alone")
        machine.end(2, Self.key(1), others: 1, kept: nil, at: Self.at(0))
        #expect(machine.usage.joined == 1 && machine.usage.misses == 3)
    }

    @Test("the oldest unused answer is evicted; one that is too large is not cached")
    func eviction() {
        var machine = Self.machine(capacity: 30)
        func add(_ number: UInt64, size: Int) {
            guard case .leads(let run) = machine.arrive(Self.key(number), "x", compared: nil, at: Self.at(0)) else {
                return
            }
            machine.end(run, Self.key(number), kept: ("\(number)", size), at: Self.at(0))
        }
        for number in 1...3 { add(UInt64(number), size: 10) }
        #expect(Self.arrive(&machine, Self.key(1), "x", Self.at(1)) == "hit 1")
        add(4, size: 10)
        #expect(Self.arrive(&machine, Self.key(2), "x", Self.at(1)).hasPrefix("leads"), "1 was spared, 2 was not")
        #expect(Self.arrive(&machine, Self.key(1), "x", Self.at(1)) == "hit 1")
        add(5, size: 31)
        #expect(Self.arrive(&machine, Self.key(5), "x", Self.at(1)).hasPrefix("leads"))
        #expect(machine.usage.bytes == 30)
        machine.use(Machine.Limits(capacity: 10, age: .seconds(10)))
        #expect(machine.usage.answers == 1, "a smaller limit holds at once")
        machine.use(Machine.Limits(capacity: 0, age: .seconds(10)))
        #expect(machine.usage.bytes == 0)
        #expect(Self.arrive(&machine, Self.key(1), "x", Self.at(1)).hasPrefix("leads"))
    }

    @Test("requests that waited for an unshared answer count as misses, and requests that left are not counted")
    func waitedInVain() {
        var machine = Self.machine()
        for _ in 0..<4 { _ = Self.arrive(&machine, Self.key(1), "a", Self.at(0)) }
        let last = machine.leave(1, Self.key(1))
        #expect(!last && machine.usage.misses == 1)
        machine.end(1, Self.key(1), others: 2, isShared: false, kept: nil, at: Self.at(0))
        #expect(machine.usage.joined == 0 && machine.usage.misses == 3)
        machine.end(1, Self.key(1), others: 2, kept: nil, at: Self.at(0))
        #expect(machine.usage.joined == 0, "a run ends once")
        #expect(machine.runs == 0)
    }

    @Test("random histories agree with a list that is searched")
    func random() {
        var random = SplitMix(seed: SplitMix.seed(for: "SharingMachineTests.random"))
        var machine = Self.machine(capacity: 50, age: .seconds(20))
        var kept = KeptList(capacity: 50, age: 20)
        var runs: [(run: UInt64, key: UInt64, members: Int)] = []
        var now: UInt64 = 0
        for step in 0..<20_000 {
            now += random.next() % 2
            let number = random.next() % 12
            switch random.next() % 4 {
            case 0, 1:
                let arrival = Self.arrive(&machine, Self.key(number), "\(number)", Self.at(now))
                if kept.finds(number, at: now) {
                    #expect(arrival == "hit \(number)", "step \(step)")
                    continue
                }
                if let index = runs.firstIndex(where: { $0.key == number }) {
                    runs[index].members += 1
                    #expect(arrival == "joins \(runs[index].run)", "step \(step)")
                } else {
                    let run = UInt64(arrival.split(separator: " ").last ?? "") ?? 0
                    #expect(arrival == "leads \(run)", "step \(step)")
                    runs.append((run, number, 1))
                }
            case 2:
                guard !runs.isEmpty else { continue }
                let index = Int(random.next() % UInt64(runs.count))
                runs[index].members -= 1
                let last = machine.leave(runs[index].run, Self.key(runs[index].key))
                #expect(last == (runs[index].members == 0), "step \(step)")
                if runs[index].members == 0 { runs.remove(at: index) }
            default:
                guard !runs.isEmpty else { continue }
                let run = runs.remove(at: Int(random.next() % UInt64(runs.count)))
                let size = Int(random.next() % 30)
                let isKept = random.next() % 5 != 0
                let answer: (answer: String, size: Int)? = isKept ? ("\(run.key)", size) : nil
                machine.end(run.run, Self.key(run.key), others: run.members - 1, kept: answer, at: Self.at(now))
                if isKept { kept.add(run.key, size: size, at: now) }
            }
            #expect(machine.usage.bytes == kept.bytes, "step \(step)")
            #expect(machine.usage.answers == kept.all.count, "step \(step)")
            #expect(machine.runs == runs.count, "step \(step)")
        }
    }

    /// The cache by SIEVE as described in its paper, in a list that is searched, the oldest answer first.
    private struct KeptList {
        let capacity: Int
        let age: UInt64
        private(set) var all: [(key: UInt64, size: Int, made: UInt64, isVisited: Bool)] = []
        private var hand: UInt64?

        var bytes: Int { all.reduce(0) { $0 + $1.size } }

        init(capacity: Int, age: UInt64) {
            self.capacity = capacity
            self.age = age
        }

        mutating func finds(_ key: UInt64, at now: UInt64) -> Bool {
            guard let index = all.firstIndex(where: { $0.key == key }) else { return false }
            guard now - all[index].made < age else {
                remove(index)
                return false
            }
            all[index].isVisited = true
            return true
        }

        mutating func add(_ key: UInt64, size: Int, at now: UInt64) {
            if let index = all.firstIndex(where: { $0.key == key }) { remove(index) }
            while bytes + size > capacity {
                let index = all.firstIndex { $0.key == hand } ?? 0
                if all[index].isVisited {
                    all[index].isVisited = false
                    hand = all.indices.contains(index + 1) ? all[index + 1].key : nil
                } else {
                    remove(index)
                }
            }
            all.append((key, size, now, false))
        }

        private mutating func remove(_ index: Int) {
            if hand == all[index].key { hand = all.indices.contains(index + 1) ? all[index + 1].key : nil }
            all.remove(at: index)
        }
    }

    @Test("with Zipf-distributed requests for 10,000 pictures, 1,000 cached answers serve more than 0.72")
    func zipf() {
        var random = SplitMix(seed: SplitMix.seed(for: "SharingMachineTests.zipf"))
        var sums: [Double] = []
        for rank in 1...10_000 { sums.append((sums.last ?? 0) + 1 / Double(rank)) }
        func picture() -> UInt64 {
            let point = Double(random.next() >> 11) / Double(1 << 53) * (sums.last ?? 0)
            var (low, high) = (0, sums.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < point { low = middle + 1 } else { high = middle }
            }
            return UInt64(low)
        }
        var machine = Self.machine(capacity: 1_000, age: .seconds(10))
        var hits = 0
        for step in 0..<60_000 {
            let key = Self.key(picture())
            switch machine.arrive(key, "x", compared: nil, at: Self.at(0)) {
            case .hit: hits += step >= 20_000 ? 1 : 0
            case .leads(let run): machine.end(run, key, kept: ("y", 1), at: Self.at(0))
            case .joins, .alone, .compare: Issue.record("nothing is under way")
            }
        }
        #expect(Double(hits) / 40_000 > 0.72, "the one that was used least lately gives way: 0.676 in theory")
    }
}
