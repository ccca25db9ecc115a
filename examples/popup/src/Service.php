<?php

declare(strict_types=1);

namespace Popup;

use Popup\Cache\ConfigurationCache;
use Popup\Rules\Configuration;
use Popup\Rules\Rules;
use Popup\Rules\Visitor;
use Popup\State\States;
use Popup\State\StatesException;
use Popup\Storage\Operations;

/**
 * What the service does, without HTTP: it answers requests for pop-ups, takes reports, and writes both down.
 *
 * Invariant: a pop-up is returned, and a report confirmed, only after its operation is durable. If a process dies in
 * between, the user misses that pop-up until its interval has passed; it is never counted without having been recorded.
 */
final class Service
{
    /** Three requests of one user at the same moment may disturb each other; more than that is not a user. */
    private const TRIES_MAX = 3;

    /** Begins the names of this process's displays. */
    private readonly string $prefix;

    private int $displays = 0;

    /**
     * @param \Closure(string): void $record makes a record durable, or throws; see Operation::record()
     * @param string $secret signs displays
     */
    public function __construct(
        private readonly ConfigurationCache $configurations,
        private readonly States $states,
        private readonly Operations $operations,
        private readonly Clock $clock,
        private readonly \Closure $record,
        #[\SensitiveParameter] private readonly string $secret,
    ) {
        $this->prefix = base_convert((string) time(), 10, 36) . bin2hex(random_bytes(5)) . 'z';
    }

    /**
     * The body of the answer to "is there a pop-up for me now?".
     *
     * @throws StatesException when it is not known what the user has seen
     */
    public function ask(Visitor $visitor): string
    {
        $configurations = $this->configurations->current()->candidates($visitor->platform);
        for ($tries = 0; $tries < self::TRIES_MAX; $tries++) {
            $now = $this->clock->now();
            $choice = Rules::choose($configurations, $visitor, fn (): array => $this->seen($visitor->user), $now);
            $chosen = $choice->configuration;
            if ($chosen === null) {
                $wait = $choice->askAgainAt === null ? 'null' : $choice->askAgainAt - $now;

                return "{\"popup\":null,\"ask_again_in\":$wait}";
            }
            if ($this->states->change($visitor->user, $chosen->id, $choice->shown, $now)) {
                return $this->show($visitor->user, $chosen, $choice->shown, $now);
            }
        }

        return '{"popup":null,"ask_again_in":1}';
    }

    /**
     * Takes a client's report on a pop-up it was given.
     *
     * @param string $display as ask() gave it
     * @return bool false: no such pop-up was given to anybody
     */
    public function report(string $display, Operation $operation): bool
    {
        [$name, $configuration, $user, $signature] = explode('~', $display, 4) + ['', '', '', ''];
        if (!hash_equals($this->sign("$name~$configuration~$user"), $signature)) {
            return false;
        }
        if ($operation === Operation::Clicked) {
            $this->states->merge($user, [(int) $configuration => Rules::CLICKED]);
        }
        ($this->record)($operation->record($name, $user, (int) $configuration, $this->clock->now()));

        return true;
    }

    /**
     * Writes a batch to the database.
     *
     * @param list<string> $records
     */
    public function write(array $records): void
    {
        $this->operations->write($records);
        if (!$this->states->isComplete()) {
            // Records of before a restart may have come too late for the loading of states.
            foreach ($records as $record) {
                [, $kind, $user, $configuration, $at] = explode("\t", $record);
                $shown = [(int) $configuration => (int) $kind === Operation::Clicked->value ? Rules::CLICKED : (int) $at];
                $this->states->merge($user, $shown);
            }
        }
    }

    /** Has the states of all users loaded, unless that has been done since the machine or Redis was started. */
    public function completeStates(): void
    {
        $this->states->complete(function (): void {
            foreach ($this->operations->seenByAll() as $user => $seen) {
                $this->states->merge((string) $user, $seen);
            }
        });
    }

    /** @return array<int, int> */
    private function seen(string $user): array
    {
        $seen = $this->states->seen($user);
        if ($seen === [] && !$this->states->isComplete()) {
            try {
                $seen = $this->operations->seenBy($user);
            } catch (\PDOException $error) {
                throw new StatesException("Nobody knows what the user has seen: {$error->getMessage()}", 0, $error);
            }
            if ($seen !== []) {
                $this->states->merge($user, $seen);
            }
        }

        return $seen;
    }

    private function show(string $user, Configuration $chosen, ?int $before, int $now): string
    {
        $name = $this->prefix . dechex(++$this->displays);
        try {
            ($this->record)(Operation::Returned->record($name, $user, $chosen->id, $now));
        } catch (\Throwable $error) {
            $this->states->change($user, $chosen->id, $now, $before); // it was not shown
            throw $error;
        }
        $display = "$name~{$chosen->id}~$user";
        $signature = $this->sign($display);

        return "{\"popup\":{$chosen->encoded},\"display\":\"$display~$signature\"},\"ask_again_in\":null}";
    }

    /** Only a user who was given a pop-up can report on it: counts cannot be forged, and no statement is needed to check. */
    private function sign(string $display): string
    {
        return substr(hash_hmac('sha256', $display, $this->secret), 0, 20);
    }
}
