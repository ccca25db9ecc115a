// Keeps the counts of the list up to date while the page is seen.
'use strict';

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch('/admin/counts');
  if (!answer.ok) return;
  const { counts, queues, workers } = await answer.json();
  for (const cell of document.querySelectorAll('[data-count]')) {
    const [configuration, kind] = cell.dataset.count.split('-');
    cell.textContent = counts[configuration]?.[kind] ?? 0;
  }
  document.getElementById('queue').textContent =
    `${queues.depth} operations on their way to the database, ${queues.written} written by ${workers} workers, ${queues.dead} dead letters`;
}

refresh();
setInterval(refresh, 1000);
