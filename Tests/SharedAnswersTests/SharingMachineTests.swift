import SharedAnswers
import SystemSupport
import TestSupport
import Testing

/// Who computes, who waits, and what is kept, without threads.
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
        let known = machine.underWay(key)
        return text(machine.arrive(key, content, equal: known?.content == content ? known?.run : nil, at: now))
    }

    private static func text(_ arrival: Machine.Arrival) -> String {
        switch arrival {
        case .hit(let answer): "hit \(answer)"
        case .leads(let run): "leads \(run)"
        case .joins(let run): "joins \(run)"
        case .alone: "alone"
        }
    }

    @Test("the first leads, others join, and later ones hit until the answer is too old")
    func story() {
        var machine = Self.machine()
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 1")
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "joins 1")
        #expect(Self.arrive(&machine, Self.key(2), "b", Self.at(0)) == "leads 2")
        machine.end(1, kept: ("A", 10), at: Self.at(1))
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(10)) == "hit A")
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(11)) == "leads 3")
        let usage = machine.usage
        #expect((usage.answers, usage.bytes) == (0, 0))
        #expect((usage.hits, usage.joined, usage.misses) == (1, 1, 3))
    }

    @Test("another content with the same key is computed alone")
    func otherContent() {
        var machine = Self.machine()
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 1")
        #expect(Self.arrive(&machine, Self.key(1), "b", Self.at(0)) == "alone")
    }

    @Test("only the last one that leaves cancels the work, and the next one begins anew")
    func leaving() {
        var machine = Self.machine()
        _ = Self.arrive(&machine, Self.key(1), "a", Self.at(0))
        _ = Self.arrive(&machine, Self.key(1), "a", Self.at(0))
        // The third finds nobody left.
        for cancels in [false, true, false] {
            let last = machine.leave(1)
            #expect(last == cancels)
        }
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "leads 2")
        machine.end(1, kept: ("late", 10), at: Self.at(0))
        #expect(Self.arrive(&machine, Self.key(1), "a", Self.at(0)) == "joins 2", "the end of a run that was left")
        #expect(machine.usage.answers == 0)
    }

    @Test("what was not used for longest gives way; what is too large is not kept")
    func eviction() {
        var machine = Self.machine(capacity: 30)
        func add(_ number: UInt64, size: Int) {
            guard case .leads(let run) = machine.arrive(Self.key(number), "x", equal: nil, at: Self.at(0)) else {
                return
            }
            machine.end(run, kept: ("\(number)", size), at: Self.at(0))
        }
        for number in 1...3 { add(UInt64(number), size: 10) }
        #expect(Self.arrive(&machine, Self.key(1), "x", Self.at(1)) == "hit 1")
        add(4, size: 10)
        #expect(Self.arrive(&machine, Self.key(2), "x", Self.at(1)).hasPrefix("leads"), "2 was used last of all")
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

    @Test("random histories agree with a list that is searched")
    func random() {
        var random = SplitMix(seed: SplitMix.seed(for: "SharingMachineTests.random"))
        var machine = Self.machine(capacity: 50, age: .seconds(20))
        /// The kept answers, the one used last at the end.
        var kept: [(key: UInt64, size: Int, made: UInt64)] = []
        var runs: [(run: UInt64, key: UInt64, members: Int)] = []
        var now: UInt64 = 0
        for step in 0..<20_000 {
            now += random.next() % 2
            let number = random.next() % 12
            switch random.next() % 4 {
            case 0, 1:
                let arrival = Self.arrive(&machine, Self.key(number), "\(number)", Self.at(now))
                if let index = kept.firstIndex(where: { $0.key == number }) {
                    let entry = kept.remove(at: index)
                    if now - entry.made < 20 {
                        kept.append(entry)
                        #expect(arrival == "hit \(number)", "step \(step)")
                        continue
                    }
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
                let last = machine.leave(runs[index].run)
                #expect(last == (runs[index].members == 0), "step \(step)")
                if runs[index].members == 0 { runs.remove(at: index) }
            default:
                guard !runs.isEmpty else { continue }
                let run = runs.remove(at: Int(random.next() % UInt64(runs.count)))
                let size = Int(random.next() % 30)
                let isKept = random.next() % 5 != 0
                machine.end(run.run, kept: isKept ? ("\(run.key)", size) : nil, at: Self.at(now))
                guard isKept else { continue }
                kept.removeAll { $0.key == run.key }
                kept.append((run.key, size, now))
                while kept.reduce(0, { $0 + $1.size }) > 50 { kept.removeFirst() }
            }
            #expect(machine.usage.bytes == kept.reduce(0) { $0 + $1.size }, "step \(step)")
            #expect(machine.usage.answers == kept.count, "step \(step)")
            #expect(machine.runs == runs.count, "step \(step)")
        }
    }
}
