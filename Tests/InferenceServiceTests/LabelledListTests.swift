import InferenceService
internal import ServiceCore
import Synchronization
import Testing

/// Metrics by label: one for each label, whichever caller is first, and never more than the limit.
@Suite struct LabelledListTests {
    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
        func add() { value.wrappingAdd(1, ordering: .relaxed) }
        var count: Int { value.load(ordering: .relaxed) }
    }

    @Test("each label has exactly one metric, and labels are listed in order")
    func aLabelHasOneMetric() {
        let list = LabelledList(["b"]) { Counter() }
        list["a"].add()
        list["a"].add()
        list["b"].add()
        #expect(list.all().map(\.label) == ["a", "b"])
        #expect(list.all().map(\.metric.count) == [2, 1])
    }

    @Test("labels beyond the limit are counted under other, and earlier labels stay distinct")
    func pastTheMostAllThatIsNewIsOther() {
        let list = LabelledList(maximum: 10) { Counter() }
        for turn in 0..<1000 { list["label \(turn)"].add() }
        let all = list.all { $0.count > 0 }
        #expect(all.count <= 12)
        #expect(all.reduce(0) { $0 + $1.metric.count } == 1000, "something was not counted")
        #expect((all.first { $0.label == "other" }?.metric.count ?? 0) >= 988)
        // The labels before the limit stay distinct.
        list["label 0"].add()
        #expect(list["label 0"].count == 2)
    }

    @Test("the label other is listed only when its metric counts something")
    func otherIsListedOnlyWhereItCounts() {
        let list = LabelledList(["a"]) { Counter() }
        #expect(list.all { $0.count > 0 }.map(\.label) == ["a"])
        list["other"].add()
        #expect(list.all { $0.count > 0 }.map(\.label) == ["a", "other"])
    }

    @Test("concurrent tasks that use a label share its single metric")
    func manyThreadsMakeOneMetricForALabel() async {
        for _ in 0..<20 {
            let list = LabelledList(maximum: 100) { Counter() }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { for turn in 0..<50 * 20 { list["label \(turn % 50)"].add() } }
                }
            }
            #expect(list.all().count == 50)
            #expect(list.all().allSatisfy { $0.metric.count == 160 })
        }
    }
}
