import FlowControl
import Testing

/// The limiter's behaviour over time, as diagrams: see `Diagram` for how to read them.
@Suite struct LimiterDiagramTests {
    private func check(_ bench: Bench, _ text: String) {
        let diagram = Diagram(text)
        let played = diagram.played(on: bench)
        #expect(played == diagram.text)
    }

    @Test func theQueueIsFirstInFirstOut() {
        check(
            Bench(limit: 1, queue: 3),
            """
            arrive      [abcd]-----
            finish      -abcd
            granted     abcd-
            """)
    }

    @Test func severalSlotsServeOneQueue() {
        check(
            Bench(limit: 2, queue: 3),
            """
            arrive      [abcde]-----
            finish      -ab[cd]e
            granted     [ab]cde-
            """)
    }

    @Test func deferRefusesTheNewcomerWhenTheQueueIsFull() {
        check(
            Bench(limit: 1, queue: 2),
            """
            arrive      abcde-f
            finish      -----a-
            granted     a----b-
            queue_full  ---de--
            """)
    }

    @Test func dropNewestRefusesWithoutAFreeSlot() {
        check(
            Bench(limit: 1, queue: 2, policy: .dropNewest),
            """
            arrive      ab-c-d
            finish      --a-c-
            granted     a--c-d
            queue_full  -b----
            """)
    }

    @Test func dropOldestKeepsTheFreshest() {
        check(
            Bench(limit: 1, queue: 1, policy: .dropOldest),
            """
            arrive      abcdef-
            finish      ------a
            granted     a-----f
            displaced   --bcde-
            """)
    }

    @Test func dropOldestWithoutAQueueRefusesTheNewcomer() {
        check(
            Bench(limit: 1, queue: 0, policy: .dropOldest),
            """
            arrive      ab
            granted     a-
            queue_full  -b
            """)
    }

    @Test func nobodyWaitsLongerThanTheLongestWait() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(4)),
            """
            arrive          abc------
            granted         a--------
            wait_timed_out  -----bc--
            """)
    }

    @Test func aDeadlineEndsTheWaitBeforeTheLongestWaitDoes() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(4)),
            """
            arrive             ab------
            hurry              --c-----
            granted            a-------
            deadline_exceeded  -----c--
            wait_timed_out     -----b--
            """)
    }

    @Test func aDeadlineThatComesBeforeTheTimerSetResetsIt() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(8)),
            """
            arrive             ab--------
            hurry              --c-------
            granted            a--------
            deadline_exceeded  -----c----
            wait_timed_out     ---------b
            """)
    }

    @Test func theTimerIsSetAgainForThoseWhoCameLater() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(3)),
            """
            arrive          ab-c---
            finish          --a----
            granted         a-b----
            wait_timed_out  ------c
            """)
    }

    @Test func aSlotThatComesBackInTheSecondOfTheTimeoutGoesToTheNext() {
        check(
            Bench(limit: 1, queue: 9, wait: .seconds(3)),
            """
            arrive          a-bc---
            finish          -----a-
            granted         a----c-
            wait_timed_out  -----b-
            """)
    }

    @Test func theCancelledLeaveFromAnywhereInTheQueue() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive     [abcdef]------
            cancel     -d--f-
            finish     --ab-c
            granted    a-bc-e
            cancelled  -d--f-
            """)
    }

    @Test func theirPlacesAreFreeAtOnce() {
        check(
            Bench(limit: 1, queue: 1),
            """
            arrive      abcd-
            cancel      ---b-
            finish      ----a
            granted     a---d
            queue_full  --c--
            cancelled   ---b-
            """)
    }

    @Test func aHigherLimitLetsWaitersInAtOnce() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive   [abcd]---
            limit    -3-
            finish   --b
            granted  a[bc]d
            """)
    }

    @Test func aLowerLimitWaitsForSlotsToComeBack() {
        check(
            Bench(limit: 3, queue: 9),
            """
            arrive   [abcde]------
            limit    -1----
            finish   --abcd
            granted  [abc]---de
            """)
    }

    @Test func aSmallerQueueDisplacesTheNewest() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive     [abcde]---
            queue      -2-
            finish     --a
            granted    a-b
            displaced  -[ed]-
            """)
    }

    @Test func underDropOldestASmallerQueueDisplacesTheOldest() {
        check(
            Bench(limit: 1, queue: 9, policy: .dropOldest),
            """
            arrive     [abcde]---
            queue      -2-
            finish     --a
            granted    a-d
            displaced  -[bc]-
            """)
    }

    @Test func aDrainServesThoseWhoWait() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive    [abc]-d----
            drain     -*-----
            finish    ---abc-
            granted   a--bc--
            draining  --d----
            drained   -----*-
            """)
    }

    @Test func aDrainThatRefusesThemEndsWithTheLastSlot() {
        check(
            Bench(limit: 1, queue: 9),
            """
            arrive    [abc]---
            drain     -!-
            finish    --a
            granted   a--
            draining  -[bc]-
            drained   --*
            """)
    }

    @Test func anIdleLimiterIsDrainedAtOnce() {
        check(
            Bench(),
            """
            drain    -*-
            arrive   --a
            draining --a
            drained  -*-
            """)
    }

    @Test func aDeadlineThatCannotBeMetIsRefusedAtOnce() {
        // One request takes 2 s: with one in work and one waiting, an answer within 3 s is out of reach.
        check(
            Bench(limit: 1, queue: 9, service: .seconds(2)),
            """
            arrive   a----
            hurry    -b---
            finish   --a-b
            granted  a-b--
            """)
        check(
            Bench(limit: 1, queue: 9, service: .seconds(2)),
            """
            arrive                [ab]-
            hurry                 -c
            granted               a-
            deadline_unreachable  -c
            """)
    }
}
